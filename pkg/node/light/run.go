package light

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
)

// workers is the number of parallel requests of a kind.
const workers = 16

// limiter is the back-off of retries.
func limiter() workqueue.TypedRateLimiter[string] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, 7*time.Second) // as a kubelet's registration
}

// Run maintains the nodes of the feed's machines until ctx ends. It waits for the cluster and for the feed indefinitely.
// Like VMs that lose power it does not deregister its nodes.
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
	player, err := playPods(ctx, c.Client, f.nodes, f.keeps)
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
	if !cache.WaitForCacheSync(ctx.Done(), f.nodes.HasSynced) {
		return nil
	}
	err = feed.Follow(ctx, c.Feed, c.Shard, feed.Handler{
		Changed: f.changed,
		Synced:  func() { c.Logger.Info("feed synced") },
		Lost:    func(err error) { c.Logger.Warn("feed", "err", err) },
	})
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil
	}
	return err
}

// newFleet returns a fleet without machines. It watches Nodes once it is started.
func newFleet(ctx context.Context, c Config, maker maker) (*fleet, error) {
	nodes, err := newNodeCache(c.Client)
	if err != nil {
		return nil, err
	}
	f := &fleet{
		client: c.Client, maker: maker, speed: c.Speed, log: c.Logger, nodes: nodes,
		leases: newLeases(ctx, c.Client, c.LeaseDuration, c.Logger),
		queue:  workqueue.NewTypedRateLimitingQueue(limiter()),
		guests: map[string]*guest{}, names: map[string]string{},
	}
	_, err = nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{
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

// start starts the fleet's goroutines. They run until ctx ends and [fleet.end] is called.
func (f *fleet) start(ctx context.Context, all *sync.WaitGroup) {
	all.Go(func() { f.nodes.RunWithContext(ctx) })
	for range workers {
		all.Go(func() { f.work(ctx) })
		all.Go(f.leases.work)
	}
}

func (f *fleet) end() {
	f.queue.ShutDown()
	f.leases.queue.ShutDown()
}

// serverVersion waits for the cluster and returns its version.
func serverVersion(ctx context.Context, c Config) (string, error) {
	logged := ""
	for {
		v, err := c.Client.Discovery().ServerVersion()
		if err == nil {
			return v.GitVersion, nil
		}
		if err.Error() != logged {
			logged = err.Error()
			c.Logger.Warn("API server", "err", err)
		}
		if backoff.Sleep(ctx, time.Second) != nil {
			return "", fmt.Errorf("API server: %w", err)
		}
	}
}

// Config configures [Run].
type Config struct {
	// Feed is the source of the machines, Shard selects those of this program.
	Feed  feed.Endpoint
	Shard feed.Shard
	// Client needs the permissions of fleet.Rights and fleet.LeaseRights, and no rate limit.
	Client kubernetes.Interface
	// Speed scales the kubelet's periods. Default: 1, upstream's.
	Speed pace.Speed
	// LeaseDuration is that of a node's Lease, renewed at a quarter of it. Default: a kubelet's. See fleet.LeaseDuration.
	LeaseDuration time.Duration
	// Labels and Taints are added to each Node when it is registered. In a cluster of the user the labels distinguish
	// these Nodes from the cluster's own, and the taints repel its pods. A Node of a machine's name that lacks one of the
	// labels belongs to another owner: neither it nor its Lease is changed.
	Labels map[string]string
	Taints []corev1.Taint
	// NodeIP makes a Node set its machine's first address itself, as a kubelet with --node-ip does, for the cloud
	// controller manager to check.
	NodeIP bool
	// Logger is optional.
	Logger *slog.Logger
}

func (c Config) complete() (Config, error) {
	if c.Speed == 0 {
		c.Speed = 1
	}
	if err := c.Speed.Validate(); err != nil {
		return c, err
	}
	if c.LeaseDuration == 0 {
		c.LeaseDuration = c.Speed.Of(pace.NodeLease)
	}
	if c.LeaseDuration < time.Second || c.LeaseDuration%time.Second != 0 {
		return c, fmt.Errorf("lease duration %s: must be whole seconds, at least one", c.LeaseDuration)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// containerRuntime returns the container runtime version of a light node: "kwok://v0.8.0".
func containerRuntime() string {
	version := "unknown" // as in most test binaries
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "sigs.k8s.io/kwok" && dep.Version != "" {
				version = dep.Version
			}
		}
	}
	return "kwok://" + version
}

// nodeCache is an informer of the cluster's Nodes that keeps few of their fields. It implements kwok's getter of nodes.
type nodeCache struct{ cache.SharedIndexInformer }

func newNodeCache(client kubernetes.Interface) (nodeCache, error) {
	c := nodeCache{cache.NewSharedIndexInformer(nodesOf(client), &corev1.Node{}, 0, cache.Indexers{})}
	return c, c.SetTransform(brief)
}

// brief keeps the fields of a Node that this package reads.
func brief(o any) (any, error) {
	n, ok := o.(*corev1.Node)
	if !ok {
		return o, nil
	}
	short := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion},
		Spec:       corev1.NodeSpec{PodCIDR: n.Spec.PodCIDR, PodCIDRs: n.Spec.PodCIDRs},
		Status:     corev1.NodeStatus{Addresses: n.Status.Addresses},
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			short.Status.Conditions = []corev1.NodeCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	return short, nil
}

// ready reports whether a Node is ready.
func ready(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Get implements kwok's informer.Getter.
func (c nodeCache) Get(name string) (*corev1.Node, bool) {
	o, ok, err := c.GetStore().GetByKey(name)
	if err != nil || !ok {
		return nil, false
	}
	return o.(*corev1.Node), true
}

// GetWithNamespace implements kwok's informer.Getter. Nodes have no namespace.
func (c nodeCache) GetWithNamespace(name, _ string) (*corev1.Node, bool) { return c.Get(name) }

// List implements kwok's informer.Getter.
func (c nodeCache) List() []*corev1.Node {
	var all []*corev1.Node
	for _, o := range c.GetStore().List() {
		all = append(all, o.(*corev1.Node))
	}
	return all
}

// nodesOf returns a ListerWatcher of Nodes.
func nodesOf(client kubernetes.Interface) cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().Nodes().List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().Nodes().Watch(ctx, o)
		},
	}, client)
}
