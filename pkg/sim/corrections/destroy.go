package corrections

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// DestroyTask removes an object with its contents and all references to it. vcsim keeps the objects of a folder, leaves a removed
// host in its cluster, and panics on both.
func (c *Corrections) DestroyTask(ctx *simulator.Context, req *types.Destroy_Task) soap.HasFault {
	if vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine); ok {
		return c.destroyVM(ctx, vm, req)
	}
	own := vc.Fresh(ctx)
	t := simulator.CreateTask(req.This, "Destroy_Task", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		return nil, c.demolish(vc.Fresh(own), req.This)
	})
	t.Info.DescriptionId = removalID
	return &methods.Destroy_TaskBody{Res: &types.Destroy_TaskResponse{Returnval: vc.Run(own, t)}}
}

// DestroyNetwork removes an unused network.
func (c *Corrections) DestroyNetwork(ctx *simulator.Context, req *types.DestroyNetwork) soap.HasFault {
	if fault := c.demolish(vc.Fresh(ctx), req.This); fault != nil {
		return &methods.DestroyNetworkBody{Fault_: simulator.Fault("", fault)}
	}
	return &methods.DestroyNetworkBody{Res: new(types.DestroyNetworkResponse)}
}

// demolish removes the object if no rule forbids it.
func (c *Corrections) demolish(ctx *simulator.Context, ref vc.Ref) (fault types.BaseMethodFault) {
	r := remover{ctx, c.traffic, c.opts.Destroying}
	alone := c.traffic.alone(func() {
		if fault = r.check(ref); fault == nil {
			fault = r.remove(ref)
		}
	})
	if !alone {
		return &types.ResourceInUse{Type: ref.Type, Name: nameOf(ctx, ref)}
	}
	return fault
}

// nameOf returns the name of an entity.
func nameOf(ctx *simulator.Context, ref vc.Ref) string {
	if e, ok := ctx.Map.Get(ref).(mo.Entity); ok {
		return e.Entity().Name
	}
	return ref.Value
}

// remover removes objects, for one call.
type remover struct {
	ctx     *simulator.Context
	traffic *traffic
	before  func(vm vc.Ref) // called before a VM is destroyed; may be nil
}

// check returns the fault that forbids the removal, before anything is removed.
func (r remover) check(ref vc.Ref) types.BaseMethodFault {
	switch o := r.ctx.Map.Get(ref).(type) {
	case nil:
		return &types.ManagedObjectNotFound{Obj: ref}
	case *simulator.VirtualMachine:
		return r.off(o)
	case *simulator.Folder:
		if o.Parent == nil || o.Parent.Type == "Datacenter" {
			return new(types.NotSupported) // mandatory folders
		}
		return r.checkAll(r.list(o, func() []vc.Ref { return o.ChildEntity }))
	case *simulator.Datacenter:
		for _, folder := range []vc.Ref{o.VmFolder, o.HostFolder} {
			if f, ok := r.ctx.Map.Get(folder).(*simulator.Folder); ok {
				if fault := r.checkAll(r.list(f, func() []vc.Ref { return f.ChildEntity })); fault != nil {
					return fault
				}
			}
		}
	case *simulator.HostSystem:
		return r.checkHost(o)
	case *simulator.ResourcePool:
		if o.Parent != nil && (o.Parent.Type == "ComputeResource" || o.Parent.Type == "ClusterComputeResource") {
			return new(types.NotSupported) // the root pool
		}
	case *simulator.VirtualApp:
		return r.checkPool(o)
	case *simulator.Datastore:
		if len(r.list(o, func() []vc.Ref { return o.Vm })) > 0 {
			return r.inUse(o.Self, o.Name)
		}
	case *simulator.DistributedVirtualSwitch:
		if slices.ContainsFunc(r.list(o, func() []vc.Ref { return o.Portgroup }), r.connected) {
			return r.inUse(o.Self, o.Name)
		}
	default:
		if compute, ok := vc.Compute(o); ok {
			for _, host := range r.list(o, func() []vc.Ref { return compute.Host }) {
				if h, ok := r.ctx.Map.Get(host).(*simulator.HostSystem); ok {
					if fault := r.checkAll(r.list(h, func() []vc.Ref { return h.Vm })); fault != nil {
						return fault
					}
				}
			}
		} else if e, ok := o.(mo.Entity); ok && r.connected(ref) {
			return r.inUse(ref, e.Entity().Name)
		}
	}
	return nil
}

func (r remover) checkAll(refs []vc.Ref) types.BaseMethodFault {
	for _, ref := range refs {
		if fault := r.check(ref); fault != nil {
			if _, gone := fault.(*types.ManagedObjectNotFound); !gone {
				return fault
			}
		}
	}
	return nil
}

// checkPool: a vApp is removed with its contents, including the VMs in pools below it.
func (r remover) checkPool(pool mo.Reference) types.BaseMethodFault {
	for _, below := range r.list(pool, func() []vc.Ref { return pools(pool) }) {
		if p := r.ctx.Map.Get(below); p != nil {
			if fault := r.checkPool(p); fault != nil {
				return fault
			}
		}
	}
	return r.checkAll(r.list(pool, func() []vc.Ref { return vms(pool) }))
}

// checkHost: a member of a cluster must be in maintenance mode, or unreachable; its VMs must be off, or unreachable with it.
func (r remover) checkHost(h *simulator.HostSystem) (fault types.BaseMethodFault) {
	connected, maintenance := false, false
	r.ctx.WithLock(h, func() {
		connected = h.Runtime.ConnectionState == types.HostSystemConnectionStateConnected
		maintenance = h.Runtime.InMaintenanceMode
	})
	if connected && !maintenance && h.Parent != nil && h.Parent.Type == "ClusterComputeResource" {
		return new(types.InvalidState)
	}
	if !connected {
		return nil
	}
	return r.checkAll(r.list(h, func() []vc.Ref { return h.Vm }))
}

func (r remover) off(vm *simulator.VirtualMachine) (fault types.BaseMethodFault) {
	r.ctx.WithLock(vm, func() {
		if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
			fault = &types.InvalidPowerState{
				RequestedState: types.VirtualMachinePowerStatePoweredOff,
				ExistingState:  vm.Runtime.PowerState,
			}
		}
	})
	return fault
}

func (r remover) inUse(ref vc.Ref, name string) types.BaseMethodFault {
	return &types.ResourceInUse{Type: ref.Type, Name: name}
}

// connected reports whether a VM uses the network.
func (r remover) connected(network vc.Ref) bool {
	for _, e := range r.ctx.Map.All("VirtualMachine") {
		vm := e.(*simulator.VirtualMachine)
		if slices.Contains(r.list(vm, func() []vc.Ref { return vm.Network }), network) {
			return true
		}
	}
	return false
}

// list copies a list of an object under its lock.
func (r remover) list(obj mo.Reference, of func() []vc.Ref) (refs []vc.Ref) {
	r.ctx.WithLock(obj, func() { refs = slices.Clone(of()) })
	return refs
}

// destroyVM destroys a VM and its files, except attached first-class disks, which have an independent life.
func (c *Corrections) destroyVM(ctx *simulator.Context, vm *simulator.VirtualMachine, req *types.Destroy_Task) (body soap.HasFault) {
	ctx.WithLock(vm, func() {
		if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
			detachFirstClass(ctx, vm, c.opts.Destroying)
		}
		body = vm.DestroyTask(ctx, req)
	})
	return body
}

// detachFirstClass detaches the first-class disks from a VM whose lock is held, and clears their consumers. It calls before
// first, if not nil.
func detachFirstClass(ctx *simulator.Context, vm *simulator.VirtualMachine, before func(vc.Ref)) {
	if before != nil {
		before(vm.Self)
	}
	its := map[types.ID]bool{} // another VM may have the same UUID
	kept := slices.DeleteFunc(slices.Clone(vm.Config.Hardware.Device), func(d types.BaseVirtualDevice) bool {
		disk, ok := d.(*types.VirtualDisk)
		if !ok || disk.VDiskId == nil {
			return false
		}
		its[*disk.VDiskId] = true
		return true
	})
	if len(kept) != len(vm.Config.Hardware.Device) {
		ctx.Update(vm, []types.PropertyChange{vc.P("config.hardware.device", kept)})
	}
	m := ctx.Map.VStorageObjectManager()
	if m == nil {
		return
	}
	ctx.WithLock(m, func() {
		for _, disks := range m.Catalog() {
			for id, disk := range disks {
				if !its[id] {
					continue
				}
				disk.Config.ConsumerId = slices.DeleteFunc(slices.Clone(disk.Config.ConsumerId), func(id types.ID) bool {
					return id.Id == vm.Config.Uuid
				})
			}
		}
	})
}

// outcome waits for a task and returns its fault.
func outcome(ctx *simulator.Context, ref vc.Ref) types.BaseMethodFault {
	t, ok := ctx.Map.Get(ref).(*simulator.Task)
	if !ok {
		return nil
	}
	t.Wait()
	if t.Info.Error == nil {
		return nil
	}
	if fault := t.Info.Error.Fault; fault != nil {
		return fault
	}
	return new(types.RuntimeFault)
}
