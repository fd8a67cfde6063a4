package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/trim"
	"github.com/vsphere-sandbox/vsphere-sandbox/kubernetes/metrics"
)

// Run starts all parts in the order of their dependencies. It returns when ctx ends, or with an error when one part
// fails: then the whole control plane is restarted. The API server stops before etcd is closed.
func Run(ctx context.Context, cfg contract.ControlPlane) error {
	booted := trim.Booting(50) // a control plane idles most of the time
	// Deprecation warnings do not help the user: our components use the APIs of the linked release.
	rest.SetDefaultWarningHandler(rest.NoWarnings{})

	dial, err := setUpEgress(cfg)
	if err != nil {
		return part("egress", err)
	}
	slow := &slowness{}
	etcd, err := startEtcd(ctx, cfg, slow)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer etcd.Close()
	klog.InfoS("etcd serves", "endpoint", etcd.endpoint)
	if err := etcd.fill(ctx, cfg.Objects); err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	if err := os.WriteFile(cfg.EtcdEndpoint, []byte(etcd.endpoint), 0o600); err != nil {
		return fmt.Errorf("etcd: %w", err)
	}

	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return lasting(ctx, apiServer, runAPIServer(ctx, cfg, etcd)) })
	g.Go(func() error { return part("etcd", etcd.wait(ctx)) })
	g.Go(func() error {
		return part("tuning", followTuning(ctx, cfg, func(t contract.Tuning) { slow.set(t.EtcdDelay) }))
	})
	if cfg.Metrics != "" {
		g.Go(func() error { return lasting(ctx, metricsServer, metrics.Run(ctx, cfg, dial)) })
	}
	g.Go(func() error {
		if err := waitReady(ctx, cfg); err != nil {
			return part(apiServer, err)
		}
		if cfg.Supervisor != nil {
			g.Go(func() error { return lasting(ctx, supervisor, runSupervisor(ctx, cfg, etcd)) })
		}
		g.Go(func() error { return lasting(ctx, controllerManager, runControllerManager(ctx, cfg)) })
		g.Go(func() error { return lasting(ctx, scheduler, runScheduler(ctx, cfg)) })
		trimLater(ctx, booted)
		return nil
	})

	// Some controllers notice the end of ctx late. Do not wait for them: all their state is in the API server.
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

// trimAfter is the time by which the controllers have listed all objects and the first nodes have joined.
const trimAfter = 4 * time.Second

// trimLater calls booted after the boot.
func trimLater(ctx context.Context, booted func()) {
	select {
	case <-time.After(trimAfter):
		booted()
	case <-ctx.Done():
	}
}

// stopGrace limits an orderly stop. What clients wait for has an answer by then, and nothing that etcd has is lost later.
const stopGrace = 300 * time.Millisecond

// lasting turns the end of a part while ctx lives into an error.
func lasting(ctx context.Context, name string, err error) error {
	if err == nil && ctx.Err() == nil {
		err = errors.New("exited unexpectedly")
	}
	return part(name, err)
}

func part(name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// waitReady waits until the API server is ready, including its post-start hooks. Before that it cannot be watched, so it
// is polled.
func waitReady(ctx context.Context, cfg contract.ControlPlane) error {
	rc, err := clientcmd.BuildConfigFromFlags("", filepath.Join(cfg.PKI, "controller-manager.kubeconfig"))
	if err != nil {
		return err
	}
	rc.Timeout = 5 * time.Second
	client, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return err
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// slowness delays etcd's responses, as a slow disk does: every request, any number of them in parallel. Watches are not
// requests: they report a change as soon as it is stored. The zero value adds no delay.
type slowness struct{ delay atomic.Int64 }

// set sets the delay of later requests.
func (s *slowness) set(d time.Duration) { s.delay.Store(int64(d)) }

// intercept is a [grpc.UnaryServerInterceptor].
func (s *slowness) intercept(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if d := time.Duration(s.delay.Load()); d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done(): // before the request was executed
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
	return handle(ctx, req)
}
