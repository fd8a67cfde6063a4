package nodetopology

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Controller answers CSINodeTopology objects and keeps the answers up to date. Create it with [New] and run it with
// [Controller.Run]. Several in one cluster do no harm, because they write the same answers.
type Controller struct {
	cfg   Config
	queue workqueue.TypedRateLimitingInterface[string]
	store cache.Store // of objects; set by Run

	mu      sync.Mutex
	missing map[string]time.Time // since when a node has lost its topology
}

// New returns a controller that has not started.
func New(cfg Config) *Controller {
	cfg = cfg.withDefaults()
	return &Controller{
		cfg:     cfg,
		queue:   workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](cfg.RetryMin, cfg.RetryMax)),
		missing: map[string]time.Time{},
	}
}

// Run answers objects until ctx ends, and returns nil. It must be called once. If the API server does not have the kind, Run
// waits for it.
func (c *Controller) Run(ctx context.Context) error {
	informer := dynamicinformer.NewFilteredDynamicInformer(c.cfg.Dynamic, Resource(), "", 0, cache.Indexers{}, nil).Informer()
	c.store = informer.GetStore()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    c.enqueue,
		UpdateFunc: func(_, obj any) { c.enqueue(obj) },
		DeleteFunc: c.enqueue,
	}); err != nil {
		return err
	}
	// All objects are synced after any change: that only reads memory, and an object may be for a VM that is no node yet.
	defer c.cfg.Topology.Listen(func([]string) {
		for _, name := range c.store.ListKeys() {
			c.queue.Add(name)
		}
	})()
	if c.cfg.Labels != nil {
		defer c.cfg.Labels.ListenNode(func(node string) { c.queue.Add(node) })()
	}
	var all sync.WaitGroup
	defer all.Wait()
	defer c.queue.ShutDown()
	all.Go(func() { informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil
	}
	for range c.cfg.Workers {
		all.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	return nil
}

func (c *Controller) enqueue(obj any) {
	if name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
		c.queue.Add(name)
	}
}

// next syncs one object; false after the queue has been shut down.
func (c *Controller) next(ctx context.Context) bool {
	name, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(name)
	if ctx.Err() != nil {
		return true
	}
	again, err := c.sync(ctx, name)
	switch {
	case err != nil && ctx.Err() == nil:
		level := c.cfg.Logger.Warn
		if errors.Is(err, errRetry) {
			level = c.cfg.Logger.Debug
		}
		level("cannot determine node topology", "node", name, "err", err)
		c.queue.AddRateLimited(name)
	case again > 0:
		c.queue.AddAfter(name, again)
	default:
		c.queue.Forget(name)
	}
	return true
}

// get returns the cached object of a node, or nil.
func (c *Controller) get(name string) (*Object, error) {
	obj, ok, err := c.store.GetByKey(name)
	if err != nil || !ok {
		return nil, err
	}
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, nil
	}
	return parse(u)
}
