package csi

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
)

// capacities reports whether csi-provisioner publishes CSIStorageCapacity objects: if the driver has the capability, and the
// nodes have the topology segments to which they belong.
func (d *Driver) capacities(o Options) bool { return !o.foreign() && d.Topology.Zoned() }

// awaitCapacities waits until the scheduler knows the space of every zone in which a Node takes volumes: until then, it considers no
// node of the zone for a pod whose claim waits for it.
func (d *Driver) awaitCapacities(ctx context.Context) error {
	if !d.capacities(d.Running()) {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, d.Waiter.Timeout, fmt.Errorf("csi-provisioner has not published the space of all zones within %s", d.Waiter.Timeout))
	defer cancel()
	client := d.Cluster().Client()
	classes, err := client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	missing := map[wanted]labels.Set{}
	d.mu.Lock()
	for _, n := range nodes.Items {
		segment := labels.Set{}
		for key, value := range n.Labels {
			if d.nodes[n.Name] && strings.HasPrefix(key, names.TopologyPrefix) {
				segment[key] = value
			}
		}
		for _, class := range classes.Items {
			waits := class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
			if len(segment) > 0 && waits && class.Provisioner == names.Driver {
				missing[wanted{class.Name, segment.String()}] = segment
			}
		}
	}
	d.mu.Unlock()
	return awaitCapacities(ctx, client, missing, d.Waiter.Detail)
}

// wanted is a StorageClass and a topology segment that need a CSIStorageCapacity.
type wanted struct{ class, segment string }

// awaitCapacities waits until there is a CSIStorageCapacity for each StorageClass and topology segment. It removes from missing those
// that it has found.
func awaitCapacities(ctx context.Context, client kubernetes.Interface, missing map[wanted]labels.Set, detail func(string)) error {
	for len(missing) > 0 {
		watch, err := client.StorageV1().CSIStorageCapacities(objects.DefaultNamespace).Watch(ctx, metav1.ListOptions{}) // begins with those that exist
		if err != nil {
			return err
		}
		err = awaitEach(ctx, watch, missing, detail)
		watch.Stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// awaitEach returns when nothing is missing, or when the watch has ended.
func awaitEach(ctx context.Context, watch apiwatch.Interface, missing map[wanted]labels.Set, detail func(string)) error {
	for len(missing) > 0 {
		first := slices.SortedFunc(maps.Keys(missing), func(a, b wanted) int { return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.segment, b.segment)) })[0]
		what := fmt.Sprintf("%d CSIStorageCapacity objects of csi-provisioner, such as that of StorageClass %s and %s", len(missing), first.class, first.segment)
		detail("waiting for " + what)
		select {
		case e, ok := <-watch.ResultChan():
			switch c := e.Object.(type) {
			case *storagev1.CSIStorageCapacity:
				if err := remove(missing, c); err != nil {
					return err
				}
			case *metav1.Status:
				return apierrors.FromObject(c)
			}
			if !ok {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("%w; waiting for %s", context.Cause(ctx), what)
		}
	}
	return nil
}

// remove removes from missing what has this CSIStorageCapacity.
func remove(missing map[wanted]labels.Set, c *storagev1.CSIStorageCapacity) error {
	of, err := metav1.LabelSelectorAsSelector(c.NodeTopology)
	if err != nil {
		return fmt.Errorf("CSIStorageCapacity %s: %w", c.Name, err)
	}
	maps.DeleteFunc(missing, func(w wanted, segment labels.Set) bool { return w.class == c.StorageClassName && of.Matches(segment) })
	return nil
}
