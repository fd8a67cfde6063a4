package store

import (
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// build makes an object of vcsim's of what was read.
func (o *item) build() (err error) {
	defer func() {
		if r := recover(); r != nil { // of govmomi, about a value that does not fit a property
			err = fmt.Errorf("%s %s: %v", o.ref.Type, o.ref.Value, r)
		}
	}()
	o.raw.MissingSet = nil
	v, err := mo.ObjectContentToType(o.raw, true)
	if err != nil {
		return err
	}
	o.raw = types.ObjectContent{}
	o.obj = simulated(v.(mo.Reference))
	return nil
}

// simulated is the object with vcsim's methods, where it has any. Managers of the vCenter are not among them: those are
// made by vcsim, and only take over some properties.
func simulated(obj mo.Reference) mo.Reference {
	switch m := obj.(type) {
	case *mo.Folder:
		return &simulator.Folder{Folder: *m}
	case *mo.Datacenter:
		return &simulator.Datacenter{Datacenter: *m}
	case *mo.StoragePod:
		return &simulator.StoragePod{StoragePod: *m}
	case *mo.Datastore:
		return &simulator.Datastore{Datastore: *m}
	case *mo.ClusterComputeResource:
		return &simulator.ClusterComputeResource{ClusterComputeResource: *m}
	case *mo.HostSystem:
		return &simulator.HostSystem{HostSystem: *m}
	case *mo.ResourcePool:
		return &simulator.ResourcePool{ResourcePool: *m}
	case *mo.VirtualApp:
		return &simulator.VirtualApp{VirtualApp: *m}
	case *mo.VirtualMachine:
		return &simulator.VirtualMachine{VirtualMachine: *m, DataSets: make(map[string]*simulator.DataSet)}
	case *mo.VirtualMachineSnapshot:
		return &simulator.VirtualMachineSnapshot{VirtualMachineSnapshot: *m, DataSets: make(map[string]*simulator.DataSet)}
	case *mo.DistributedVirtualSwitch:
		return &simulator.DistributedVirtualSwitch{DistributedVirtualSwitch: *m}
	case *mo.VmwareDistributedVirtualSwitch:
		return &simulator.DistributedVirtualSwitch{DistributedVirtualSwitch: m.DistributedVirtualSwitch}
	case *mo.DistributedVirtualPortgroup:
		return &simulator.DistributedVirtualPortgroup{DistributedVirtualPortgroup: *m}
	case *mo.EnvironmentBrowser:
		return &simulator.EnvironmentBrowser{EnvironmentBrowser: *m}
	case *mo.HostDatastoreBrowser:
		return &simulator.HostDatastoreBrowser{HostDatastoreBrowser: *m}
	case *mo.HostDatastoreSystem:
		return &simulator.HostDatastoreSystem{HostDatastoreSystem: *m}
	case *mo.HostNetworkSystem:
		return &simulator.HostNetworkSystem{HostNetworkSystem: *m}
	case *mo.HostVirtualNicManager:
		return &simulator.HostVirtualNicManager{HostVirtualNicManager: *m}
	case *mo.HostCertificateManager:
		return &simulator.HostCertificateManager{HostCertificateManager: *m}
	case *mo.Alarm:
		return &simulator.Alarm{Alarm: *m}
	}
	return obj
}
