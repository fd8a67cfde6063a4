package truth

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// vms is the list of VMs that a host, resource pool or datastore keeps.
func vms(obj mo.Reference) []vc.Ref {
	switch o := obj.(type) {
	case *simulator.HostSystem:
		return o.Vm
	case *simulator.ResourcePool:
		return o.Vm
	case *simulator.VirtualApp:
		return o.Vm
	case *simulator.Datastore:
		return o.Vm
	}
	return nil
}

// relist takes the VM out of one object's list and puts it into another's, locking one after the other.
func relist(ctx *simulator.Context, vm, from, to vc.Ref) {
	if from == to {
		return
	}
	edit(ctx, from, "vm", vms, func(l []vc.Ref) []vc.Ref { return without(l, vm) })
	edit(ctx, to, "vm", vms, func(l []vc.Ref) []vc.Ref { return append(without(l, vm), vm) })
}

// edit replaces a list of references by a changed copy.
func edit(ctx *simulator.Context, ref vc.Ref, property string, list func(mo.Reference) []vc.Ref, change func([]vc.Ref) []vc.Ref) {
	obj := ctx.Map.Get(ref)
	if obj == nil {
		return
	}
	ctx.WithLock(obj, func() {
		ctx.Update(obj, []types.PropertyChange{vc.P(property, change(slices.Clone(list(obj))))})
	})
}

func without(l []vc.Ref, ref vc.Ref) []vc.Ref {
	return slices.DeleteFunc(l, func(r vc.Ref) bool { return r == ref })
}

// moveFolder moves the VM, whose lock is held, to another folder. It is put into the registry again, as vcsim does, so
// that views notice.
func moveFolder(ctx *simulator.Context, vm *simulator.VirtualMachine, to vc.Ref) {
	if vm.Parent != nil {
		edit(ctx, *vm.Parent, "childEntity", children, func(l []vc.Ref) []vc.Ref { return without(l, vm.Self) })
	}
	edit(ctx, to, "childEntity", children, func(l []vc.Ref) []vc.Ref { return append(without(l, vm.Self), vm.Self) })
	ctx.Update(vm, []types.PropertyChange{vc.P("parent", to)})
	ctx.Map.Put(vm)
}

// reconnect points the VM's cards to other networks.
func reconnect(ctx *simulator.Context, vm *simulator.VirtualMachine, to map[vc.Ref]vc.Ref) []types.PropertyChange {
	devices := copyDevices(vm.Config.Hardware.Device)
	var refs []vc.Ref
	for _, d := range devices {
		from, ok := vc.NetworkOf(d)
		if !ok {
			continue
		}
		ref := to[from]
		switch b := d.GetVirtualDevice().Backing.(type) {
		case *types.VirtualEthernetCardNetworkBackingInfo:
			b.Network = &ref
		case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
			b.Port.PortgroupKey = ref.Value
			if pg, ok := ctx.Map.Get(ref).(*simulator.DistributedVirtualPortgroup); ok && pg.Config.DistributedVirtualSwitch != nil {
				if s, ok := ctx.Map.Get(*pg.Config.DistributedVirtualSwitch).(*simulator.DistributedVirtualSwitch); ok {
					b.Port.SwitchUuid = s.Uuid
				}
			}
		}
		if !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return []types.PropertyChange{vc.P("config.hardware.device", devices), vc.P("network", refs)}
}
