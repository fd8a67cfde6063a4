package store

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
)

// machine readies a VM.
func (in *installer) machine(vm *simulator.VirtualMachine) error {
	if host, ok := in.base.Map.Get(*vm.Runtime.Host).(*simulator.HostSystem); ok {
		if c, ok := vc.Compute(in.base.Map.Get(*host.Parent)); ok && c.EnvironmentBrowser != nil && in.base.Map.Get(vm.EnvironmentBrowser) == nil {
			vm.EnvironmentBrowser = *c.EnvironmentBrowser // a vCenter has one for each VM; govc saves those of clusters
		}
	}
	if vm.Guest == nil {
		vm.Guest = new(types.GuestInfo)
	}
	if vm.Summary.Guest == nil {
		vm.Summary.Guest = new(types.VirtualMachineGuestSummary)
	}
	if vm.Summary.Storage == nil {
		vm.Summary.Storage = new(types.VirtualMachineStorageSummary)
	}
	if vm.Storage == nil {
		vm.Storage = new(types.VirtualMachineStorageInfo)
	}
	if vm.Layout == nil {
		vm.Layout = new(types.VirtualMachineFileLayout)
	}
	if vm.LayoutEx == nil {
		vm.LayoutEx = new(types.VirtualMachineFileLayoutEx)
	}
	vm.Summary.Vm = &vm.Self
	in.snapshots(vm)
	return inventory.Adopt(vm)
}

// snapshots makes the objects of snapshots that were not saved; govc does not.
func (in *installer) snapshots(vm *simulator.VirtualMachine) {
	if vm.Snapshot == nil {
		return
	}
	snapshots(vm.Snapshot.RootSnapshotList, func(t *types.VirtualMachineSnapshotTree, _ *vc.Ref) {
		t.Vm = vm.Self
		if in.base.Map.Get(t.Snapshot) != nil {
			return
		}
		s := &simulator.VirtualMachineSnapshot{DataSets: make(map[string]*simulator.DataSet)}
		s.Self, s.Vm, s.Config = t.Snapshot, vm.Self, *vm.Config
		for i := range t.ChildSnapshotList {
			s.ChildSnapshot = append(s.ChildSnapshot, t.ChildSnapshotList[i].Snapshot)
		}
		in.base.Map.Put(s)
	})
}
