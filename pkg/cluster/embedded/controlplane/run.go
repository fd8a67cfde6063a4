package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/trim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
)

// Run starts everything in order of need and returns when ctx ends or, with the reason, when one part fails: a control
// plane is whole or it is restarted. The API server is asked to stop before etcd is closed under it.
func Run(ctx context.Context, cfg embedded.Config) error {
	// Our own components use the APIs that their release ships; deprecation warnings about them help nobody here.
	rest.SetDefaultWarningHandler(rest.NoWarnings{})

	slow := &slowness{}
	etcd, err := startEtcd(ctx, cfg, slow)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer etcd.Close()
	klog.InfoS("etcd serves", "endpoint", etcd.endpoint)

	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return lasting(ctx, "kube-apiserver", runAPIServer(ctx, cfg, etcd.endpoint)) })
	g.Go(func() error { return part("etcd", etcd.wait(ctx)) })
	g.Go(func() error {
		return part("tuning", followTuning(ctx, cfg, func(t embedded.Tuning) { slow.set(t.EtcdDelay) }))
	})
	g.Go(func() error {
		if err := waitReady(ctx, cfg); err != nil {
			return part("kube-apiserver", err)
		}
		g.Go(func() error { return lasting(ctx, "kube-controller-manager", runControllerManager(ctx, cfg)) })
		g.Go(func() error { return lasting(ctx, "kube-scheduler", runScheduler(ctx, cfg)) })
		trimLater(ctx)
		return nil
	})

	// The controllers of the controller manager may take longer to notice than anybody wants to wait at a stop, and
	// none of them holds anything that the API server does not have.
	done := make(chan error, 1)
	go func() { done <- g.Wait() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(stopGrace):
		return context.Cause(ctx)
	}
}

// trimAfter is when the controllers have listed what there is and the first nodes have joined.
const trimAfter = 4 * time.Second

// trimLater gives back what only the boot needed, once it is over.
func trimLater(ctx context.Context) {
	select {
	case <-time.After(trimAfter):
		trim.AfterBoot()
	case <-ctx.Done():
	}
}

// stopGrace bounds an orderly stop.
const stopGrace = time.Second

// lasting is for a part that has no business to end while ctx lives.
func lasting(ctx context.Context, name string, err error) error {
	if err == nil && ctx.Err() == nil {
		err = errors.New("ended by itself")
	}
	return part(name, err)
}

func part(name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
