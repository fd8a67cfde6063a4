package light

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
)

// workers is how many requests of a kind are on their way at once.
const workers = 16

// limiter spaces what is tried again.
func limiter() workqueue.TypedRateLimiter[string] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, 7*time.Second) // as a kubelet's registration
}

// Run keeps the nodes of the feed's machines until ctx ends. It waits for the cluster and for the feed as long as it takes,
// and like machines that lose power it says no good-bye.
func Run(ctx context.Context, c Config) error {
	c, err := c.complete()
	if err != nil {
		return err
	}
	if err := c.Feed.Validate(); err != nil {
		return err
	}
	version, err := serverVersion(ctx, c)
	if err != nil {
		return err
	}
	f, err := newFleet(ctx, c, maker{
		version: version, runtime: containerRuntime(), nodeIP: c.NodeIP, labels: c.Labels, taints: c.Taints,
	})
	if err != nil {
		return err
	}
	player, err := playPods(ctx, c.Client, f.book, f.keeps)
	if err != nil {
		return err
	}
	f.pods = player.returned
	var all sync.WaitGroup
	defer all.Wait()
	defer f.end()
	defer player.back.ShutDown()
	f.start(ctx, &all)
	for range 2 {
		all.Go(func() { player.work(ctx) })
	}
	if !cache.WaitForCacheSync(ctx.Done(), f.book.HasSynced) {
		return nil
	}
	err = feed.Follow(ctx, c.Feed, c.Shard, feed.Handler{
		Changed: f.changed,
		Synced:  func() { c.Logger.Info("all machines told") },
		Lost:    func(err error) { c.Logger.Warn("feed", "err", err) },
	})
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil
	}
	return err
}

// newFleet returns a fleet without machines, which follows Nodes once it is started.
func newFleet(ctx context.Context, c Config, maker maker) (*fleet, error) {
	b, err := newBook(c.Client)
	if err != nil {
		return nil, err
	}
	f := &fleet{
		client: c.Client, maker: maker, speed: c.Speed, log: c.Logger, book: b,
		leases: newLeases(ctx, c.Client, c.LeaseDuration, c.Logger),
		queue:  workqueue.NewTypedRateLimitingQueue(limiter()),
		guests: map[string]*guest{}, names: map[string]string{},
	}
	_, err = b.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { f.found(o.(*corev1.Node), false) },
		UpdateFunc: func(_, o any) { f.found(o.(*corev1.Node), false) },
		DeleteFunc: func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			f.found(o.(*corev1.Node), true)
		},
	})
	return f, err
}

// start starts what works for the fleet until ctx ends and [fleet.end] is called.
func (f *fleet) start(ctx context.Context, all *sync.WaitGroup) {
	all.Go(func() { f.book.RunWithContext(ctx) })
	for range workers {
		all.Go(func() { f.work(ctx) })
		all.Go(f.leases.work)
	}
}

func (f *fleet) end() {
	f.queue.ShutDown()
	f.leases.queue.ShutDown()
}

// serverVersion is the cluster's, as soon as it says so.
func serverVersion(ctx context.Context, c Config) (string, error) {
	said := ""
	for {
		v, err := kubernetesVersion(c.Client)
		if err == nil {
			return v, nil
		}
		if err.Error() != said {
			said = err.Error()
			c.Logger.Warn("API server", "err", err)
		}
		if backoff.Sleep(ctx, time.Second) != nil {
			return "", fmt.Errorf("API server: %w", err)
		}
	}
}

func kubernetesVersion(client kubernetes.Interface) (string, error) {
	v, err := client.Discovery().ServerVersion()
	if err != nil {
		return "", err
	}
	return v.GitVersion, nil
}
