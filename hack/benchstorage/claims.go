package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
)

const (
	namespace = metav1.NamespaceDefault
	// patience is when a figure is given up.
	patience = 5 * time.Minute
	// atOnce is how many objects are made at the same time.
	atOnce = 10
)

// one measures a single claim with its pod, a few times.
func (l *lab) one(ctx context.Context) error {
	for n := range 3 {
		id := fmt.Sprintf("one-%d", n)
		begin := time.Now()
		if err := l.claim(ctx, id, objects.DefaultClass); err != nil {
			return err
		}
		if err := l.pod(ctx, id); err != nil {
			return err
		}
		if err := l.running(ctx, n+1, nil); err != nil {
			return err
		}
		l.table.note("one claim → its pod runs", "s", 4, time.Since(begin).Seconds())
	}
	return nil
}

// many measures them all at once, from the first claim to the last pod, and back.
func (l *lab) many(ctx context.Context) error {
	begin := time.Now()
	if err := l.all(ctx, "many", func(ctx context.Context, id string) error {
		if err := l.claim(ctx, id, objects.DefaultClass); err != nil {
			return err
		}
		return l.pod(ctx, id)
	}); err != nil {
		return err
	}
	if err := l.running(ctx, l.volumes, func(n int) {
		if n == l.volumes/2 {
			l.table.note(fmt.Sprintf("%d claims on ten nodes → half of the pods run", l.volumes), "s", 0, time.Since(begin).Seconds())
		}
	}); err != nil {
		return err
	}
	l.table.note(fmt.Sprintf("%d claims on ten nodes → all pods run", l.volumes), "s", 60, time.Since(begin).Seconds())

	begin = time.Now()
	if err := l.clear(ctx); err != nil {
		return err
	}
	l.table.note("all deleted → no volume is left in CNS", "s", 0, time.Since(begin).Seconds())
	return nil
}

// clear deletes pods and claims and waits until no volume is left.
func (l *lab) clear(ctx context.Context) error {
	var now int64
	if err := l.cluster.CoreV1().Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{}); err != nil {
		return err
	}
	if err := l.cluster.CoreV1().PersistentVolumeClaims(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	return l.volumesAre(ctx, 0)
}

// all makes one of each of the volumes' numbers.
func (l *lab) all(ctx context.Context, prefix string, makeOne func(ctx context.Context, id string) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for n := range l.volumes {
		g.Go(func() error { return makeOne(ctx, fmt.Sprintf("%s-%d", prefix, n)) })
	}
	return g.Wait()
}

func (l *lab) claim(ctx context.Context, id, class string) error {
	_, err := l.cluster.CoreV1().PersistentVolumeClaims(namespace).Create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: id},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{})
	return err
}

func (l *lab) pod(ctx context.Context, id string) error {
	labels := map[string]string{"bench": "storage"}
	_, err := l.cluster.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: id, Labels: labels},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "c", Image: "registry.k8s.io/pause:3.10", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
			}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: id},
			}}},
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
				LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
			}},
		},
	}, metav1.CreateOptions{})
	return err
}
