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
		Synced:  func() { c.Logger.Info("feed synced") },
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

// Config says which machines are made nodes of which cluster.
type Config struct {
	// Feed is the source of the machines, Shard selects those of this program.
	Feed  feed.Where
	Shard feed.Shard
	// Client reaches the cluster with the rights of fleet.Rights and fleet.LeaseRights. It is not to limit its own rate.
	Client kubernetes.Interface
	// Speed scales the kubelet's periods. 0: upstream's own.
	Speed pace.Speed
	// LeaseDuration is that of a node's Lease, renewed at a quarter of it. 0: a kubelet's. See fleet.LeaseDuration.
	LeaseDuration time.Duration
	// Labels and Taints are added to each Node when it is registered. In a cluster of the user the labels distinguish
	// these Nodes from the cluster's own, and the taints repel its pods. A Node of a machine's name that lacks one of the
	// labels belongs to another owner: neither it nor its Lease is changed.
	Labels map[string]string
	Taints []corev1.Taint
	// NodeIP has a Node say its machine's first address itself, as a kubelet with --node-ip does, for the cloud controller
	// manager to check.
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

// containerRuntime is what a light node says that its containers are run by: "kwok://v0.8.0".
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

// book is what is known of the cluster's Nodes, little of each. It implements kwok's getter of nodes.
type book struct{ cache.SharedIndexInformer }

func newBook(client kubernetes.Interface) (book, error) {
	b := book{cache.NewSharedIndexInformer(nodesOf(client), &corev1.Node{}, 0, cache.Indexers{})}
	return b, b.SetTransform(brief)
}

// brief is all of a Node that anything here reads.
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
func (b book) Get(name string) (*corev1.Node, bool) {
	o, ok, err := b.GetStore().GetByKey(name)
	if err != nil || !ok {
		return nil, false
	}
	return o.(*corev1.Node), true
}

// GetWithNamespace implements kwok's informer.Getter. Nodes are in none.
func (b book) GetWithNamespace(name, _ string) (*corev1.Node, bool) { return b.Get(name) }

// List implements kwok's informer.Getter.
func (b book) List() []*corev1.Node {
	var all []*corev1.Node
	for _, o := range b.GetStore().List() {
		all = append(all, o.(*corev1.Node))
	}
	return all
}

// nodesOf lists and watches Nodes.
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
