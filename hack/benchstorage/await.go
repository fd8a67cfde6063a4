package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// running waits until so many pods run; each, if any, is told of each further one.
func (l *lab) running(ctx context.Context, want int, each func(n int)) error {
	w, stop, err := l.watch(ctx, func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return l.cluster.CoreV1().Pods(namespace).Watch(ctx, o)
	})
	if err != nil {
		return err
	}
	defer stop()
	return count(w, want, "pods run", each, func(e watch.Event) (string, bool) {
		p, ok := e.Object.(*corev1.Pod)
		return nameOf(e), ok && p.Status.Phase == corev1.PodRunning
	})
}

// bound waits until so many claims are.
func (l *lab) bound(ctx context.Context, want int) error {
	w, stop, err := l.watch(ctx, func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return l.cluster.CoreV1().PersistentVolumeClaims(namespace).Watch(ctx, o)
	})
	if err != nil {
		return err
	}
	defer stop()
	return count(w, want, "claims are bound", nil, func(e watch.Event) (string, bool) {
		c, ok := e.Object.(*corev1.PersistentVolumeClaim)
		return nameOf(e), ok && c.Status.Phase == corev1.ClaimBound
	})
}

func (l *lab) watch(ctx context.Context, open func(context.Context, metav1.ListOptions) (watch.Interface, error)) (<-chan watch.Event, func(), error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	w, err := open(ctx, metav1.ListOptions{})
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return w.ResultChan(), func() { w.Stop(); cancel() }, nil
}

func count(events <-chan watch.Event, want int, what string, each func(n int), is func(watch.Event) (string, bool)) error {
	seen := map[string]bool{}
	for e := range events {
		name, ok := is(e)
		if !ok || e.Type == watch.Deleted || seen[name] {
			continue
		}
		seen[name] = true
		if each != nil {
			each(len(seen))
		}
		if len(seen) == want {
			return nil
		}
	}
	return fmt.Errorf("after %s, %d of %d %s", patience, len(seen), want, what)
}

func nameOf(e watch.Event) string {
	if o, ok := e.Object.(metav1.Object); ok {
		return o.GetName()
	}
	return ""
}

// volumesAre waits until there are so many volumes, as both planes have them.
func (l *lab) volumesAre(ctx context.Context, want int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	met := errors.New("met")
	volumes, synced := map[string]bool{}, false
	err := l.sandbox.Watch(ctx, ^uint64(0), func(u api.Update) error {
		if u.Volume != nil {
			volumes[u.Volume.Name] = !u.Deleted
		}
		if synced = synced || u.Synced; !synced {
			return nil
		}
		n := 0
		for _, there := range volumes {
			if there {
				n++
			}
		}
		if n == want {
			return met
		}
		return nil
	})
	if errors.Is(err, met) {
		return nil
	}
	all, _ := l.sandbox.Volumes(context.WithoutCancel(ctx))
	return fmt.Errorf("after %s, %d volumes, want %d: %w", patience, len(all), want, err)
}
