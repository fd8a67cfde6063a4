package corrections

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// MarkAsTemplate removes a VM from its resource pool, and from that pool's list; vcsim leaves it in the list, and sends no
// update.
func (c *Corrections) MarkAsTemplate(ctx *simulator.Context, req *types.MarkAsTemplate) soap.HasFault {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.MarkAsTemplateBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	var body soap.HasFault
	ctx.WithLock(vm, func() {
		pool := vm.ResourcePool
		if body = vm.MarkAsTemplate(req); body.Fault() != nil {
			return
		}
		c.marked(ctx, vm, pool, nil)
	})
	return body
}

// MarkAsVirtualMachine puts a template into a resource pool, and the pool's list, and on a host.
func (c *Corrections) MarkAsVirtualMachine(ctx *simulator.Context, req *types.MarkAsVirtualMachine) soap.HasFault {
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return &methods.MarkAsVirtualMachineBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	var body soap.HasFault
	ctx.WithLock(vm, func() {
		host := vm.Runtime.Host
		if body = vm.MarkAsVirtualMachine(req); body.Fault() != nil {
			return
		}
		c.marked(ctx, vm, nil, vm.ResourcePool)
		if host != nil && req.Host != nil {
			relist(ctx, vm.Self, *host, *req.Host)
		}
	})
	return body
}

// marked sends the updates that vcsim omits. The caller holds the VM's lock.
func (c *Corrections) marked(ctx *simulator.Context, vm *simulator.VirtualMachine, from, to *vc.Ref) {
	var leave, enter vc.Ref
	changes := []types.PropertyChange{
		vc.P("config.template", vm.Config.Template), vc.P("summary.config.template", vm.Config.Template),
	}
	if h := vm.Runtime.Host; h != nil {
		changes = append(changes, vc.P("runtime.host", *h), vc.P("summary.runtime.host", *h))
	}
	if from != nil {
		leave = *from
	}
	if to != nil {
		enter = *to
		changes = append(changes, vc.P("resourcePool", enter))
	} else {
		changes = append(changes, vc.P("resourcePool", nil))
	}
	relist(ctx, vm.Self, leave, enter)
	ctx.Update(vm, changes)
}
