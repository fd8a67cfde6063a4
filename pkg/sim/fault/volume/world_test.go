package volume_test

import (
	"errors"
	"testing"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/snapshot"
)

const source = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: volumes}
spec:
  vcenters:
  - name: vc
    datacenters:
    - name: dc
      clusters: [{name: c1, hosts: [{name: "h-{n}", replicas: 2}]}]
      datastores: [{name: shared}, {name: other}]
      vms:
      - {name: a, cluster: c1, role: worker, datastore: shared}
      - {name: b, cluster: c1, role: worker, datastore: shared}
`

// world has two VMs and a volume, pvc-1, that is on VM a.
type world struct {
	snapshot.World
	t       *testing.T
	vcenter *sim.VCenter
	id      cnstypes.CnsVolumeId
}

func start(t *testing.T) world {
	t.Helper()
	w := world{World: snapshot.Start(t, source), t: t}
	w.vcenter, _ = w.VCenter("vc")
	w.id = w.create("pvc-1")
	w.ok(w.attach("a", w.id))
	return w
}

func (w world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w world) is(want types.BaseMethodFault, err error) {
	w.t.Helper()
	if !vimfault.Is(err, want) {
		w.t.Errorf("got %v, want a %T", err, want)
	}
}

func (w world) vm(name string) *object.VirtualMachine {
	return object.NewVirtualMachine(w.Client("vc").Client, w.Ref("vc", "/dc/vm/"+name))
}

func (w world) cns() *cns.Client {
	w.t.Helper()
	c, err := cns.NewClient(w.t.Context(), w.Client("vc").Client)
	w.ok(err)
	return c
}

// ends waits for a task of CNS and returns the result of its only volume; a fault in there is the error.
func (w world) ends(task *object.Task, err error) (cnstypes.BaseCnsVolumeOperationResult, error) {
	w.t.Helper()
	w.ok(err)
	info, err := task.WaitForResult(w.t.Context())
	if err != nil {
		return nil, err
	}
	result, err := cns.GetTaskResult(w.t.Context(), info)
	w.ok(err)
	if result == nil {
		return nil, errors.New("no result")
	}
	if f := result.GetCnsVolumeOperationResult().Fault; f != nil {
		return nil, soap.WrapVimFault(f.Fault)
	}
	return result, nil
}

func (w world) spec(name string) []cnstypes.CnsVolumeCreateSpec {
	return []cnstypes.CnsVolumeCreateSpec{{
		Name: name, VolumeType: string(cnstypes.CnsVolumeTypeBlock), Datastores: []types.ManagedObjectReference{w.Ref("vc", "/dc/datastore/shared")},
		Metadata: cnstypes.CnsVolumeMetadata{ContainerCluster: cnstypes.CnsContainerCluster{
			ClusterType: string(cnstypes.CnsClusterTypeKubernetes), ClusterId: "cluster-1", VSphereUser: "u",
		}},
		BackingObjectDetails: &cnstypes.CnsBlockBackingDetails{CnsBackingObjectDetails: cnstypes.CnsBackingObjectDetails{CapacityInMb: 64}},
	}}
}

func (w world) tryCreate(name string) (cnstypes.CnsVolumeId, error) {
	w.t.Helper()
	r, err := w.ends(w.cns().CreateVolume(w.t.Context(), w.spec(name)))
	if err != nil {
		return cnstypes.CnsVolumeId{}, err
	}
	return r.GetCnsVolumeOperationResult().VolumeId, nil
}

func (w world) create(name string) cnstypes.CnsVolumeId {
	w.t.Helper()
	id, err := w.tryCreate(name)
	w.ok(err)
	return id
}

func (w world) on(vm string, id cnstypes.CnsVolumeId) []cnstypes.CnsVolumeAttachDetachSpec {
	return []cnstypes.CnsVolumeAttachDetachSpec{{VolumeId: id, Vm: w.Ref("vc", "/dc/vm/"+vm)}}
}

func (w world) attach(vm string, id cnstypes.CnsVolumeId) error {
	w.t.Helper()
	_, err := w.ends(w.cns().AttachVolume(w.t.Context(), w.on(vm, id)))
	return err
}

func (w world) detach(vm string, id cnstypes.CnsVolumeId) error {
	w.t.Helper()
	_, err := w.ends(w.cns().DetachVolume(w.t.Context(), w.on(vm, id)))
	return err
}

func (w world) remove(id cnstypes.CnsVolumeId) error {
	w.t.Helper()
	_, err := w.ends(w.cns().DeleteVolume(w.t.Context(), []cnstypes.CnsVolumeId{id}, true))
	return err
}

func (w world) extend(id cnstypes.CnsVolumeId) error {
	w.t.Helper()
	v, _ := w.vcenter.Volume(id.Id)
	_, err := w.ends(w.cns().ExtendVolume(w.t.Context(), []cnstypes.CnsVolumeExtendSpec{{VolumeId: id, CapacityInMb: v.CapacityMB + 64}}))
	return err
}

func (w world) snapshot(id cnstypes.CnsVolumeId) error {
	w.t.Helper()
	_, err := w.ends(w.cns().CreateSnapshots(w.t.Context(), []cnstypes.CnsSnapshotCreateSpec{{VolumeId: id, Description: "s"}}))
	return err
}

// record is what CNS knows of the volume.
func (w world) record() any {
	w.t.Helper()
	r, err := w.cns().QueryVolume(w.t.Context(), &cnstypes.CnsQueryFilter{VolumeIds: []cnstypes.CnsVolumeId{w.id}})
	w.ok(err)
	v, _ := w.vcenter.Volume(w.id.Id)
	return []any{r.Volumes, v}
}
