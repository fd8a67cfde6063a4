package privileges

import (
	"context"
	"errors"
	"log/slog"
	"time"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/controller"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/migrated"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodetopology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/privilege"
)

const gib = int64(1) << 30

// driver is the CSI driver's controller under the account csi.
type driver struct {
	*controller.Controller
	cluster *csi.Kubernetes
}

// driver starts one; the test ends it.
func (w *world) driver() *driver { return w.driverOf(csiUser, password) }

// driverOf starts one under another account.
func (w *world) driverOf(user, password string) *driver {
	w.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker", UID: "1"}, Spec: corev1.NodeSpec{ProviderID: "vsphere://" + uuid}}
	d := &driver{cluster: &csi.Kubernetes{
		Client: fake.NewClientset(node),
		Dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
			map[schema.GroupVersionResource]string{
				nodetopology.Resource(): "CSINodeTopologyList",
				migrated.Resource():     "CnsVSphereVolumeMigrationList",
			}),
	}}
	e, err := csi.NewEngine(w.t.Context(), csi.Options{
		Config: config.Options{
			File: w.conf(user, password), ReadOptions: config.ReadOptions{ClusterID: "test"}, UserAgent: csi.UserAgent,
			CallTimeout: 5 * time.Second, MaxWait: 5 * time.Second,
		},
		Kubernetes: d.cluster, Logger: slog.New(slog.NewTextHandler(w.t.Output(), nil)),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	d.Controller = e.Controller
	w.t.Cleanup(e.Close)
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	if err := e.WaitReady(ctx); err != nil {
		w.t.Fatal(err)
	}
	return d
}

// made is what a driver that may do everything has prepared, one thing for each operation.
type made struct{ idle, attached, small, snapped, doomed, from, taken, old string }

func (w *world) prepare(d *driver) (m made) {
	w.t.Helper()
	ctx := w.t.Context()
	for name, id := range map[string]*string{
		"idle": &m.idle, "attached": &m.attached, "small": &m.small, "snapped": &m.snapped, "doomed": &m.doomed, "from": &m.from,
	} {
		v, err := d.volume(ctx, name, nil, nil)
		if err != nil {
			w.t.Fatal(err)
		}
		*id = v
	}
	var err error
	if m.taken, err = d.snapshot(ctx, "taken", m.from); err != nil {
		w.t.Fatal(err)
	}
	if m.old, err = d.snapshot(ctx, "old", m.from); err != nil {
		w.t.Fatal(err)
	}
	if err := d.attach(ctx, m.attached); err != nil {
		w.t.Fatal(err)
	}
	return m
}

// operations does everything that the driver does, in an order in which nothing stands in another's way.
func (d *driver) operations(ctx context.Context, m made) map[privilege.Operation]error {
	_, create := d.volume(ctx, "new", nil, nil)
	_, policy := d.volume(ctx, "golden", map[string]string{"storagepolicyname": "gold"}, nil)
	_, from := d.volume(ctx, "copy", nil, &csiapi.VolumeContentSource{Type: &csiapi.VolumeContentSource_Snapshot{
		Snapshot: &csiapi.VolumeContentSource_SnapshotSource{SnapshotId: m.taken},
	}})
	_, expand := d.ControllerExpandVolume(ctx, &csiapi.ControllerExpandVolumeRequest{
		VolumeId: m.small, CapacityRange: &csiapi.CapacityRange{RequiredBytes: 2 * gib},
	})
	_, detach := d.ControllerUnpublishVolume(ctx, &csiapi.ControllerUnpublishVolumeRequest{VolumeId: m.attached, NodeId: uuid})
	_, snapshot := d.snapshot(ctx, "fresh", m.snapped)
	_, deleteSnapshot := d.DeleteSnapshot(ctx, &csiapi.DeleteSnapshotRequest{SnapshotId: m.old})
	volumes, list := d.Controller.ListVolumes(ctx, &csiapi.ListVolumesRequest{})
	if list == nil && len(volumes.Entries) == 0 {
		list = errors.New("no volumes")
	}
	snapshots, listSnapshots := d.Controller.ListSnapshots(ctx, &csiapi.ListSnapshotsRequest{SourceVolumeId: m.from})
	if listSnapshots == nil && len(snapshots.Entries) == 0 {
		listSnapshots = errors.New("no snapshots")
	}
	_, remove := d.DeleteVolume(ctx, &csiapi.DeleteVolumeRequest{VolumeId: m.doomed})
	return map[privilege.Operation]error{
		privilege.NodeTopology: d.topology(ctx), privilege.CreateVolume: create, privilege.CreateWithPolicy: policy, privilege.CreateFrom: from,
		privilege.AttachVolume: d.attach(ctx, m.idle), privilege.DetachVolume: detach, privilege.ExpandVolume: expand,
		privilege.TakeSnapshot: snapshot, privilege.DeleteSnapshot: deleteSnapshot, privilege.ListVolumes: list,
		privilege.ListSnapshots: listSnapshots, privilege.DeleteVolume: remove,
	}
}

func capability() *csiapi.VolumeCapability {
	return &csiapi.VolumeCapability{
		AccessMode: &csiapi.VolumeCapability_AccessMode{Mode: csiapi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
		AccessType: &csiapi.VolumeCapability_Mount{Mount: &csiapi.VolumeCapability_MountVolume{}},
	}
}

func (d *driver) volume(ctx context.Context, name string, parameters map[string]string, from *csiapi.VolumeContentSource) (string, error) {
	answer, err := d.CreateVolume(ctx, &csiapi.CreateVolumeRequest{
		Name: name, VolumeCapabilities: []*csiapi.VolumeCapability{capability()}, Parameters: parameters, VolumeContentSource: from,
		CapacityRange: &csiapi.CapacityRange{RequiredBytes: gib},
		AccessibilityRequirements: &csiapi.TopologyRequirement{Requisite: []*csiapi.Topology{{Segments: map[string]string{
			"topology.csi.vmware.com/k8s-zone": "us-west", "topology.csi.vmware.com/k8s-region": "us",
		}}}},
	})
	return answer.GetVolume().GetVolumeId(), err
}

func (d *driver) attach(ctx context.Context, volume string) error {
	_, err := d.ControllerPublishVolume(ctx, &csiapi.ControllerPublishVolumeRequest{VolumeId: volume, NodeId: uuid, VolumeCapability: capability()})
	return err
}

func (d *driver) snapshot(ctx context.Context, name, volume string) (string, error) {
	answer, err := d.CreateSnapshot(ctx, &csiapi.CreateSnapshotRequest{Name: name, SourceVolumeId: volume})
	return answer.GetSnapshot().GetSnapshotId(), err
}

// topology asks as a node does.
func (d *driver) topology(ctx context.Context) error {
	requests := d.cluster.Dynamic.Resource(nodetopology.Resource())
	_, err := requests.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cns.vmware.com/v1alpha1", "kind": nodetopology.Kind, "metadata": map[string]any{"name": "worker"},
		"spec": map[string]any{"nodeID": "worker", "nodeuuid": uuid},
	}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	deadline := time.After(20 * time.Second)
	for {
		o, err := requests.Get(ctx, "worker", metav1.GetOptions{})
		if err != nil {
			return err
		}
		status, _, _ := unstructured.NestedString(o.Object, "status", "status")
		why, _, _ := unstructured.NestedString(o.Object, "status", "errorMessage")
		switch status {
		case nodetopology.Error:
			return errors.New(why)
		case nodetopology.Success:
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-deadline:
			return errors.New("no answer")
		}
	}
}
