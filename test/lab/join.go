package lab

import (
	"context"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
)

// Join is [Kubelets.RegisterAs] for callers on other goroutines, or that continue after a failure. edit may be nil. A
// name that was registered before then belongs to the new machine.
func (k *Kubelets) Join(ctx context.Context, edit func(*corev1.Node), machines ...*Machine) error {
	if edit == nil {
		edit = func(*corev1.Node) {}
	}
	var g errgroup.Group
	g.SetLimit(atOnce)
	for _, m := range machines {
		g.Go(func() error { return k.register(ctx, m, edit) })
	}
	return g.Wait()
}
