package sim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

const twoDatastores = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: two}
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          clusters: [{name: c, hosts: [{name: h1}, {name: h2}]}]
          datastores:
            - {name: one, clusters: [c]}
            - {name: other, clusters: [c]}
            - {name: local-1, hosts: [h1]}
            - {name: local-2, hosts: [h2]}
          vms: [{name: vm-1, host: h1, datastore: one}]
`

// A relocation of a VM to another datastore takes its volumes along, also to a host that does not mount their old one.
func TestStorageVMotion(t *testing.T) {
	for _, test := range []struct{ name, volume, host, to string }{
		{"storage", "one", "", "other"},
		{"host and storage", "local-1", "h2", "local-2"},
		{"host, and storage of the volume only", "local-1", "h2", "one"},
	} {
		t.Run(test.name, func(t *testing.T) { storageVMotion(t, test.volume, test.host, test.to) })
	}
}

func storageVMotion(t *testing.T, volume, host, datastore string) {
	lab := sim.Start(t, twoDatastores)
	ctx, client := t.Context(), lab.Client("vc").Client
	finder := find.NewFinder(client)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	api, err := cns.NewClient(ctx, client)
	must(err)
	vm, err := finder.VirtualMachine(ctx, "/dc/vm/vm-1")
	must(err)
	one, err := finder.Datastore(ctx, "/dc/datastore/"+volume)
	must(err)
	other, err := finder.Datastore(ctx, "/dc/datastore/"+datastore)
	must(err)
	container := cnstypes.CnsContainerCluster{ClusterType: string(cnstypes.CnsClusterTypeKubernetes), ClusterId: "c", VSphereUser: "u", ClusterFlavor: string(cnstypes.CnsClusterFlavorVanilla)}
	task, err := api.CreateVolume(ctx, []cnstypes.CnsVolumeCreateSpec{{
		Name: "data", VolumeType: string(cnstypes.CnsVolumeTypeBlock), Datastores: []types.ManagedObjectReference{one.Reference()},
		BackingObjectDetails: &cnstypes.CnsBlockBackingDetails{CnsBackingObjectDetails: cnstypes.CnsBackingObjectDetails{CapacityInMb: 10}},
		Metadata:             cnstypes.CnsVolumeMetadata{ContainerCluster: container, ContainerClusterArray: []cnstypes.CnsContainerCluster{container}},
	}})
	must(err)
	info, err := cns.GetTaskInfo(ctx, task)
	must(err)
	made, err := cns.GetTaskResult(ctx, info)
	must(err)
	id := made.GetCnsVolumeOperationResult().VolumeId
	task, err = api.AttachVolume(ctx, []cnstypes.CnsVolumeAttachDetachSpec{{VolumeId: id, Vm: vm.Reference()}})
	must(err)
	must(task.Wait(ctx))

	to, spec := other.Reference(), types.VirtualMachineRelocateSpec{}
	if host != "" {
		h, err := finder.HostSystem(ctx, "/dc/host/c/"+host)
		must(err)
		ref := h.Reference()
		spec.Host = &ref
		move, err := vm.Relocate(ctx, spec, "")
		must(err)
		if err := move.Wait(ctx); !fault.Is(err, new(types.InaccessibleDatastore)) {
			t.Errorf("the host alone: %v, want InaccessibleDatastore", err)
		}
	}
	spec.Datastore = &to
	move, err := vm.Relocate(ctx, spec, "")
	must(err)
	must(move.Wait(ctx))
	vc, _ := lab.VCenter("vc")
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		v, ok := vc.Volume(id.Id)
		if ok && v.DatastoreName == datastore && v.VMName == "vm-1" && strings.HasPrefix(v.Path, "["+datastore+"] ") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", v)
		}
	}
	devices, err := vm.Device(ctx)
	must(err)
	for _, d := range devices.SelectByType((*types.VirtualDisk)(nil)) {
		if file := d.GetVirtualDevice().Backing.(types.BaseVirtualDeviceFileBackingInfo).GetVirtualDeviceFileBackingInfo().FileName; !strings.HasPrefix(file, "["+datastore+"] ") {
			t.Errorf("disk %s", file)
		}
	}
}
