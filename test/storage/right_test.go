package storage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// wrong says what of a round is not as it should be in the end; "" when all is.
func (l *life) wrong(ctx context.Context) string {
	want := l.all()
	for _, check := range []func(context.Context, []string) (string, error){l.podsRun, l.claimsBound, l.snapshotReady, l.volumesInUse, l.attachments, l.links} {
		switch bad, err := check(ctx, want); {
		case err != nil:
			return err.Error()
		case bad != "":
			return bad
		}
	}
	return ""
}

// all returns the claims that must exist.
func (l *life) all() []string {
	var all []string
	for n := range l.claims {
		all = append(all, l.claim(n))
	}
	if l.restore {
		all = append(all, l.restored())
	}
	return all
}

func (l *life) podsRun(ctx context.Context, want []string) (string, error) {
	pods, err := l.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	if len(pods.Items) != len(want) {
		return fmt.Sprintf("%d pods, want %d", len(pods.Items), len(want)), nil
	}
	for _, p := range pods.Items {
		ready := slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		if p.DeletionTimestamp != nil || p.Status.Phase != corev1.PodRunning || !ready {
			return fmt.Sprintf("pod %s is %s, ready %t, deleted %v", p.Name, p.Status.Phase, ready, p.DeletionTimestamp), nil
		}
	}
	return "", nil
}

func (l *life) claimsBound(ctx context.Context, want []string) (string, error) {
	for _, name := range want {
		c, err := l.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		if c.Status.Phase != corev1.ClaimBound {
			return fmt.Sprintf("claim %s is %s", name, c.Status.Phase), nil
		}
		capacity, gib := c.Status.Capacity[corev1.ResourceStorage], int64(1)
		if slices.Contains(l.grown, name) {
			gib = 2
		}
		if capacity.Value() != gib<<30 {
			return fmt.Sprintf("claim %s has %s, want %d GiB", name, capacity.String(), gib), nil
		}
	}
	return "", nil
}

func (l *life) snapshotReady(ctx context.Context, _ []string) (string, error) {
	s, err := l.dynamic.Resource(l.snapshots()).Namespace(namespace).Get(ctx, l.id, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if ready, _, _ := unstructured.NestedBool(s.Object, "status", "readyToUse"); !ready {
		return fmt.Sprintf("snapshot is not ready: %v", s.Object["status"]), nil
	}
	return "", nil
}

// volumesInUse wants CNS to have exactly one volume for each claim, on the VM of the node where its pod runs.
func (l *life) volumesInUse(ctx context.Context, want []string) (string, error) {
	volumes, err := l.sandbox.Volumes(ctx)
	if err != nil {
		return "", err
	}
	nodes, err := l.sandbox.Nodes(ctx)
	if err != nil {
		return "", err
	}
	if len(volumes) != len(want) {
		return fmt.Sprintf("%d volumes, want %d: %+v", len(volumes), len(want), volumes), nil
	}
	for _, v := range volumes {
		i := slices.IndexFunc(nodes, func(n api.Node) bool { return n.Name == v.Node })
		if v.State != api.VolumeInUse || i < 0 || nodes[i].VM != v.VM || nodes[i].VCenter != v.VCenter {
			return fmt.Sprintf("volume %+v", v), nil
		}
	}
	return "", nil
}

// attachments wants one for each volume, where its pod is.
func (l *life) attachments(ctx context.Context, want []string) (string, error) {
	all, err := l.client.StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	if len(all.Items) != len(want) {
		return fmt.Sprintf("%d attachments, want %d", len(all.Items), len(want)), nil
	}
	for _, a := range all.Items {
		if !a.Status.Attached || a.DeletionTimestamp != nil {
			return fmt.Sprintf("attachment of %s to %s: attached %t, deleted %v", *a.Spec.Source.PersistentVolumeName, a.Spec.NodeName, a.Status.Attached, a.DeletionTimestamp), nil
		}
	}
	return "", nil
}

// links wants each disk in the guest of one VM.
func (l *life) links(_ context.Context, want []string) (string, error) {
	links, err := l.disks()
	if err != nil {
		return "", err
	}
	seen := map[string]string{}
	for _, link := range links {
		disk := filepath.Base(link)
		if other := seen[disk]; other != "" {
			return fmt.Sprintf("disk %s is in two guests: %s and %s", disk, other, link), nil
		}
		seen[disk] = link
	}
	if len(seen) != len(want) {
		return fmt.Sprintf("%d disks in guests, want %d: %v", len(seen), len(want), links), nil
	}
	return "", nil
}

// disks are the links to disks in all guests.
func (w *world) disks() ([]string, error) {
	all, err := filepath.Glob(filepath.Join(w.dir, "nodes", "*", "by-id", "wwn-*"))
	return slices.DeleteFunc(all, func(path string) bool {
		_, err := os.Lstat(path)
		return err != nil // it went this moment
	}), err
}

// left says what there still is after everything has been deleted.
func (w *world) left(ctx context.Context) string {
	volumes, err := w.sandbox.Volumes(ctx)
	if err != nil || len(volumes) > 0 {
		return fmt.Sprintf("volumes %+v, %v", volumes, err)
	}
	datastores, err := w.sandbox.Datastores(ctx)
	if err != nil {
		return err.Error()
	}
	for _, d := range datastores {
		if d.Volumes > 0 {
			return fmt.Sprintf("%d volumes in CNS on datastore %s of %s", d.Volumes, d.Name, d.VCenter)
		}
	}
	pods, err := w.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(pods.Items) > 0 {
		return fmt.Sprintf("%d pods, %v", len(pods.Items), err)
	}
	attachments, err := w.client.StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
	if err != nil || len(attachments.Items) > 0 {
		return fmt.Sprintf("%d attachments, %v", len(attachments.Items), err)
	}
	contents := (&life{}).snapshots()
	contents.Resource = "volumesnapshotcontents"
	snapshots, err := w.dynamic.Resource(contents).List(ctx, metav1.ListOptions{})
	if err != nil || len(snapshots.Items) > 0 {
		return fmt.Sprintf("%d snapshot contents, %v", len(snapshots.Items), err)
	}
	if disks, err := w.disks(); err != nil || len(disks) > 0 {
		return fmt.Sprintf("disks in guests: %v, %v", disks, err)
	}
	return ""
}
