package csiupstream

import (
	"context"
	"fmt"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// Keys of upstream's topology: tag categories.
const (
	regionKey = "topology.csi.vmware.com/k8s-region"
	zoneKey   = "topology.csi.vmware.com/k8s-zone"
)

// registerNode writes what the kubelet writes when upstream's node service registers.
func (w *world) registerNode(m *lab.Machine) {
	w.t.Helper()
	most := int32(59)
	if _, err := w.Lab.Client.StorageV1().CSINodes().Create(w.t.Context(), &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: m.Name},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
			Name: driver, NodeID: m.UUID, TopologyKeys: []string{regionKey, zoneKey}, Allocatable: &storagev1.VolumeNodeResources{Count: &most},
		}}},
	}, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

var nodeTopologies = schema.GroupVersionResource{Group: "cns.vmware.com", Version: "v1alpha1", Resource: "csinodetopologies"}

// topologies asks the syncer for the topology of each node, as upstream's node service does, and waits for it.
func (w *world) topologies() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	for _, m := range w.Machines() {
		w.poll(ctx, "CSINodeTopology of "+m.Name+" can be made", func() error {
			_, err := w.dynamic.Resource(nodeTopologies).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "cns.vmware.com/v1alpha1", "kind": "CSINodeTopology", "metadata": map[string]any{"name": m.Name},
				"spec": map[string]any{"nodeID": m.Name, "nodeuuid": m.UUID},
			}}, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				err = nil
			}
			return err
		})
	}
	for _, m := range w.Machines() {
		w.poll(ctx, "the syncer knows where "+m.Name+" is", func() error {
			o, err := w.dynamic.Resource(nodeTopologies).Get(ctx, m.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if state, _, _ := unstructured.NestedString(o.Object, "status", "status"); state != "Success" {
				return fmt.Errorf("status is %v", o.Object["status"])
			}
			got := map[string]string{}
			labels, _, _ := unstructured.NestedSlice(o.Object, "status", "topologyLabels")
			for _, l := range labels {
				if l, ok := l.(map[string]any); ok {
					got[fmt.Sprint(l["key"])] = fmt.Sprint(l["value"])
				}
			}
			if got[regionKey] != m.Region || got[zoneKey] != m.Zone {
				w.t.Errorf("node %s is in %v, want %+v", m.Name, got, m.Place)
			}
			return nil
		})
	}
}

// poll waits until there is no complaint.
func (w *world) poll(ctx context.Context, what string, complaint func() error) {
	w.t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := complaint()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			w.t.Fatalf("waiting until %s: %v", what, err)
		case <-tick.C:
		}
	}
}
