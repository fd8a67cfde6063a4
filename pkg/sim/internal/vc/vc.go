package vc

import (
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Ref is a managed object reference. vCenters may use the same references.
type Ref = types.ManagedObjectReference

// Fresh returns a copy of base. In vcsim the address of a Context identifies the holder of a lock: two goroutines, or a goroutine
// and its task, that share one silently share their locks. So every operation must start with a fresh one.
func Fresh(base *simulator.Context) *simulator.Context {
	c := *base
	return &c
}

// P is one changed property. A nil value unsets it.
func P(name string, value any) types.PropertyChange {
	return types.PropertyChange{Name: name, Val: value}
}

// Set changes properties of the object under its lock and notifies the collectors. It ignores a removed object.
func Set(ctx *simulator.Context, ref Ref, changes ...types.PropertyChange) {
	obj := ctx.Map.Get(ref)
	if obj == nil {
		return
	}
	ctx.WithLock(obj, func() { ctx.Update(obj, changes) })
}

// Post adds an event to the vCenter's event history.
func Post(ctx *simulator.Context, event types.BaseEvent) {
	m := ctx.Map.EventManager()
	ctx.WithLock(m, func() { m.PostEvent(ctx, &types.PostEvent{EventToPost: event}) })
}

// Wait waits for a task and returns its result.
func Wait(ctx *simulator.Context, task Ref) (any, error) {
	t, ok := ctx.Map.Get(task).(*simulator.Task)
	if !ok {
		return nil, fmt.Errorf("task %s: gone", task.Value)
	}
	t.Wait()
	if t.Info.Error != nil {
		return nil, fmt.Errorf("task %s: %w", t.Info.Name, Fault(t.Info.Error.Fault))
	}
	return t.Info.Result, nil
}

// Err returns the fault of an answer as an error, or nil.
func Err(answer soap.HasFault) error {
	if f := answer.Fault(); f != nil {
		return soap.WrapSoapFault(f)
	}
	return nil
}

// Fault returns a fault as an error.
func Fault(f types.BaseMethodFault) error { return soap.WrapVimFault(f) }

// Datacenter returns the datacenter of the entity, and false for one outside of datacenters (the root folder and folders of
// datacenters).
func Datacenter(r *simulator.Registry, ref Ref) (Ref, bool) {
	for {
		if ref.Type == "Datacenter" {
			return ref, true
		}
		e, ok := r.Get(ref).(mo.Entity)
		if !ok || e.Entity().Parent == nil {
			return Ref{}, false
		}
		ref = *e.Entity().Parent
	}
}

// Compute returns the common part of clusters and standalone hosts.
func Compute(obj mo.Reference) (*mo.ComputeResource, bool) {
	switch c := obj.(type) {
	case *mo.ComputeResource:
		return c, true
	case *simulator.ClusterComputeResource:
		return &c.ComputeResource, true
	}
	return nil, false
}

// NetworkOf returns the network or port group of a device.
func NetworkOf(d types.BaseVirtualDevice) (Ref, bool) {
	switch b := d.GetVirtualDevice().Backing.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		if b.Network != nil {
			return *b.Network, true
		}
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		return Ref{Type: "DistributedVirtualPortgroup", Value: b.Port.PortgroupKey}, true
	}
	return Ref{}, false
}

// Run starts a task like t.Run, but without the lock of the task's object, which vcsim would hold until the task ends: it would
// block readers and other VMs' operations, and removing the object during the task would end the process. The task locks what it
// changes, with fresh contexts. ctx may hold the object's lock.
func Run(ctx *simulator.Context, t *simulator.Task) Ref {
	entity := *t.Info.Entity
	if e, ok := ctx.Map.Get(entity).(mo.Entity); ok {
		ctx.WithLock(e, func() { t.Info.EntityName = e.Entity().Name })
	}
	ready := make(chan struct{})
	run := t.Execute
	t.Execute = func(t *simulator.Task) (types.AnyType, types.BaseMethodFault) {
		<-ready
		return run(t)
	}
	h := &hide{task: t, ref: Ref{Type: "SandboxHide", Value: fmt.Sprintf("sandbox-hide-%p", t)}}
	h.placeholder = h.ref // a separate one for each task, to avoid contention
	ctx.Map.AddHandler(h)
	ref := t.Run(ctx)
	ctx.Map.Remove(ctx, h.ref) // the handler, and the placeholder's lock
	ctx.Map.AtomicUpdate(ctx, t, []types.PropertyChange{P("info.entity", entity)})
	close(ready)
	return ref
}

// hide replaces the object of a task after its announcement, which clients of the object need, and before vcsim locks it.
type hide struct {
	ref         Ref
	task        *simulator.Task
	placeholder Ref
}

// Reference implements simulator.RegisterObject.
func (h *hide) Reference() Ref { return h.ref }

// PutObject implements simulator.RegisterObject.
func (h *hide) PutObject(*simulator.Context, mo.Reference) {}

// RemoveObject implements simulator.RegisterObject.
func (h *hide) RemoveObject(*simulator.Context, Ref) {}

// UpdateObject implements simulator.RegisterObject: the task is locked.
func (h *hide) UpdateObject(_ *simulator.Context, obj mo.Reference, _ []types.PropertyChange) {
	if t, ok := obj.(*mo.Task); ok && t == &h.task.Task {
		t.Info.Entity = &h.placeholder
	}
}

// Await waits for a task of vcsim and returns its result.
func Await(ctx *simulator.Context, task Ref) (types.AnyType, types.BaseMethodFault) {
	t, ok := ctx.Map.Get(task).(*simulator.Task)
	if !ok {
		return nil, new(types.InvalidRequest)
	}
	t.Wait()
	if t.Info.Error != nil {
		return nil, t.Info.Error.Fault
	}
	return t.Info.Result, nil
}
