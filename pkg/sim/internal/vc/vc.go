package vc

import (
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Ref is a managed object reference. References repeat between vCenters.
type Ref = types.ManagedObjectReference

// Fresh returns a copy of base. In vcsim the address of a Context is the identity of the holder of a lock: two
// goroutines, or a goroutine and a task that it started, that share one also share their locks, silently. So every
// operation from outside begins with a context of its own.
func Fresh(base *simulator.Context) *simulator.Context {
	c := *base
	return &c
}

// P is one changed property. A nil value unsets it.
func P(name string, value any) types.PropertyChange {
	return types.PropertyChange{Name: name, Val: value}
}

// Set changes properties of the object under its lock and tells every collector. An object that is gone is left alone.
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

// Err returns the fault of an answer as an error, nil when it holds none.
func Err(answer soap.HasFault) error {
	if f := answer.Fault(); f != nil {
		return soap.WrapSoapFault(f)
	}
	return nil
}

// Fault makes an error of a typed fault.
func Fault(f types.BaseMethodFault) error { return soap.WrapVimFault(f) }

// Datacenter returns the datacenter that holds the entity, walking up its parents; false when there is none (the root
// folder and folders of datacenters).
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

// Compute returns the part that clusters and standalone hosts have in common.
func Compute(obj mo.Reference) (*mo.ComputeResource, bool) {
	switch c := obj.(type) {
	case *mo.ComputeResource:
		return c, true
	case *simulator.ClusterComputeResource:
		return &c.ComputeResource, true
	}
	return nil, false
}

// NetworkOf returns the network or port group that a device is connected to.
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
