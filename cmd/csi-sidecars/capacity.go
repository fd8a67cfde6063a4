package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/kubernetes-csi/external-provisioner/v6/pkg/capacity"
	"github.com/kubernetes-csi/external-provisioner/v6/pkg/capacity/topology"
	provisioning "github.com/kubernetes-csi/external-provisioner/v6/pkg/controller"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/util/workqueue"
)

// capacityOptions configure the CSIStorageCapacity objects of csi-provisioner, with upstream's flags and defaults. The objects have
// no owner, as with upstream's --capacity-ownerref-level=-1.
type capacityOptions struct {
	enabled bool
	poll    time.Duration
}

func (o *capacityOptions) flags(fs *flag.FlagSet) {
	fs.BoolVar(&o.enabled, "enable-capacity", false, "Publish the driver's capacity in CSIStorageCapacity objects, in the namespace of $NAMESPACE.")
	fs.DurationVar(&o.poll, "capacity-poll-interval", time.Minute, "How often the capacity is requested from the driver.")
}

// capacities publishes CSIStorageCapacity objects, one for each StorageClass and topology segment.
type capacities struct {
	objects  *capacity.Controller
	segments topology.Informer
	own      informers.SharedInformerFactory
}

// build returns nil if no objects are published.
func (o *capacityOptions) build(w *dependencies, all informers.SharedInformerFactory, timeout time.Duration) (*capacities, error) {
	if !o.enabled {
		return nil, nil
	}
	if o.poll <= 0 {
		return nil, errors.New("--capacity-poll-interval must be positive")
	}
	namespace := os.Getenv("NAMESPACE")
	if namespace == "" {
		return nil, errors.New("--enable-capacity: the environment variable NAMESPACE must name the namespace of the CSIStorageCapacity objects")
	}
	const manager = "external-provisioner"
	c := &capacities{
		segments: topology.NewNodeTopology(w.driver.name, w.client, all.Core().V1().Nodes(), all.Storage().V1().CSINodes(),
			workqueue.NewTypedRateLimitingQueue(w.retries())),
		own: informers.NewSharedInformerFactoryWithOptions(w.client, provisioning.ResyncPeriodOfCsiNodeInformer, informers.WithNamespace(namespace),
			informers.WithTweakListOptions(func(lo *metav1.ListOptions) {
				lo.LabelSelector = labels.Set{capacity.DriverNameLabel: w.driver.name, capacity.ManagedByLabel: manager}.AsSelector().String()
			})),
	}
	c.objects = capacity.NewCentralCapacityController(csi.NewControllerClient(w.driver.conn), w.driver.name, capacity.NewV1ClientFactory(w.client),
		workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[capacity.QueueKey](w.retryStart, w.retryMax)),
		nil, manager, namespace, c.segments, all.Storage().V1().StorageClasses(), c.own.Storage().V1().CSIStorageCapacities(), o.poll, false, timeout)
	return c, nil
}

// run publishes until ctx ends. The informers of nodes and classes must be running.
func (c *capacities) run(ctx context.Context, wg *sync.WaitGroup) {
	c.own.Start(ctx.Done())
	wg.Go(func() { c.segments.RunWorker(ctx) })
	wg.Go(func() { c.objects.Run(ctx, 1, wg) })
}
