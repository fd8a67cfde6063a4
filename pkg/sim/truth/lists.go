package truth

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// The lists of references that objects of several types have, for edit.

func children(obj mo.Reference) []vc.Ref {
	if f, ok := obj.(*simulator.Folder); ok {
		return f.ChildEntity
	}
	return nil
}

func pools(obj mo.Reference) []vc.Ref {
	switch o := obj.(type) {
	case *simulator.ResourcePool:
		return o.ResourcePool.ResourcePool
	case *simulator.VirtualApp:
		return o.ResourcePool.ResourcePool
	}
	return nil
}

func datastores(obj mo.Reference) []vc.Ref {
	switch o := obj.(type) {
	case *simulator.HostSystem:
		return o.Datastore
	case *simulator.Datacenter:
		return o.Datastore
	}
	return computeOf(obj).Datastore
}

func networksOf(obj mo.Reference) []vc.Ref {
	switch o := obj.(type) {
	case *simulator.HostSystem:
		return o.Network
	case *simulator.Datacenter:
		return o.Network
	}
	return computeOf(obj).Network
}

// networkHosts is the list of hosts of a network or port group.
func networkHosts(obj mo.Reference) []vc.Ref {
	switch o := obj.(type) {
	case *mo.Network:
		return o.Host
	case *simulator.DistributedVirtualPortgroup:
		return o.Host
	}
	return nil
}

// computeOf is what clusters and standalone hosts have in common; nothing of any other object.
func computeOf(obj mo.Reference) *mo.ComputeResource {
	if c, ok := vc.Compute(obj); ok {
		return c
	}
	return new(mo.ComputeResource)
}
