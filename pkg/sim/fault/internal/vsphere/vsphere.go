// Package vsphere has the calls to a vCenter that faults of hosts, storage and tags share.
//
// Floor 2, inside pkg/sim/fault.
package vsphere

import (
	"context"
	"fmt"

	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// Ref is a reference to a managed object.
type Ref = types.ManagedObjectReference

// At returns the vCenter of the call's target.
func At(c *fault.Call) (*fault.Endpoint, error) { return Named(c, c.Target.VCenter) }

// Named returns a vCenter by name.
func Named(c *fault.Call, name string) (*fault.Endpoint, error) {
	if ep := c.Ground.VCenter(name); ep != nil {
		return ep, nil
	}
	return nil, fmt.Errorf("vcenter %q not found", name)
}

// Get reads properties of an object into dst, a pointer to a type of package mo.
func Get(ctx context.Context, ep *fault.Endpoint, ref Ref, dst any, paths ...string) error {
	return ep.SOAP(ctx, func(ctx context.Context, c *vim25.Client) error {
		return property.DefaultCollector(c).RetrieveOne(ctx, ref, paths, dst)
	})
}

// GetAll reads properties of objects into dst, a pointer to a slice of a type of package mo.
func GetAll(ctx context.Context, ep *fault.Endpoint, refs []Ref, dst any, paths ...string) error {
	if len(refs) == 0 {
		return nil
	}
	return ep.SOAP(ctx, func(ctx context.Context, c *vim25.Client) error {
		return property.DefaultCollector(c).Retrieve(ctx, refs, paths, dst)
	})
}

// Run starts a task and waits for its end.
func Run(ctx context.Context, ep *fault.Endpoint, start func(context.Context, *vim25.Client) (*object.Task, error)) error {
	return ep.SOAP(ctx, func(ctx context.Context, c *vim25.Client) error {
		task, err := start(ctx, c)
		if err != nil {
			return err
		}
		if err := task.Wait(ctx); err != nil {
			return err
		}
		return context.Cause(ctx) // govmomi returns nil for an aborted wait
	})
}

// IsGone reports whether an error means that the object does not exist any more.
func IsGone(err error) bool { return vimfault.Is(err, new(types.ManagedObjectNotFound)) }

// Causing makes the call the cause of what happens to the objects, until release is called. It has no effect on a real vCenter.
func Causing(c *fault.Call, ep *fault.Endpoint, refs ...Ref) (release func()) {
	if ep.Sim == nil {
		return func() {}
	}
	releases := make([]func(), len(refs))
	for i, ref := range refs {
		releases[i] = ep.Sim.CausingRef(ref, c.Seq)
	}
	return func() {
		for _, release := range releases {
			release()
		}
	}
}

// PowerOn powers a VM on, unless it is on.
func PowerOn(ctx context.Context, c *fault.Call, ep *fault.Endpoint, vm Ref) error {
	defer Causing(c, ep, vm)()
	err := Run(ctx, ep, func(ctx context.Context, c *vim25.Client) (*object.Task, error) {
		return object.NewVirtualMachine(c, vm).PowerOn(ctx)
	})
	if state := new(types.InvalidPowerState); vimfault.Is(err, state) {
		return nil
	}
	return err
}
