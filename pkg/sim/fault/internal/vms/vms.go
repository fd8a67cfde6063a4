package vms

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	kinds "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// Ref is a reference to an object of a vCenter.
type Ref = types.ManagedObjectReference

// VM is the state of a target, and a session to change it. It is valid within one func of [On].
type VM struct {
	*object.VirtualMachine
	Name    string
	Parent  *Ref
	Values  []types.BaseCustomFieldValue
	Config  *types.VirtualMachineConfigInfo
	Runtime types.VirtualMachineRuntimeInfo
	Pool    *Ref
	Guest   *types.GuestInfo
	// Snapshots reports whether the VM has snapshots.
	Snapshots bool
	// Datastores are the datastores of its files.
	Datastores []Ref
}

// look lists the properties that Read reads.
func look() []string {
	return []string{"name", "parent", "config", "runtime", "resourcePool", "snapshot", "datastore", "guest", "customValue"}
}

// Read reads a VM.
func Read(ctx context.Context, c *vim25.Client, ref Ref) (*VM, error) {
	var m mo.VirtualMachine
	if err := property.DefaultCollector(c).RetrieveOne(ctx, ref, look(), &m); err != nil {
		return nil, err
	}
	if m.Config == nil {
		return nil, kinds.Refuse("vm %s: its configuration cannot be read: its host or datastore is not there", m.Name)
	}
	return &VM{
		VirtualMachine: object.NewVirtualMachine(c, ref), Name: m.Name, Parent: m.Parent, Values: m.CustomValue, Config: m.Config, Runtime: m.Runtime,
		Pool: m.ResourcePool, Guest: m.Guest, Snapshots: m.Snapshot != nil, Datastores: m.Datastore,
	}, nil
}

// Endpoint returns the vCenter of the target.
func Endpoint(c *kinds.Call) (*kinds.Endpoint, error) {
	if ep := c.Ground.VCenter(c.Target.VCenter); ep != nil {
		return ep, nil
	}
	return nil, &kinds.Refusal{Code: "not-found", Message: "vcenter " + c.Target.VCenter + " not found"}
}

// On calls f with the current state of the target. The call becomes the cause of what happens to it during f.
func On(ctx context.Context, c *kinds.Call, f func(context.Context, *VM) error) error {
	return At(ctx, c, c.Target.Ref, f)
}

// At is On for another VM of the target's vCenter.
func At(ctx context.Context, c *kinds.Call, ref Ref, f func(context.Context, *VM) error) error {
	ep, err := Endpoint(c)
	if err != nil {
		return err
	}
	return ep.SOAP(ctx, func(ctx context.Context, client *vim25.Client) error {
		vm, err := Read(ctx, client, ref)
		if err != nil {
			return err
		}
		defer Causing(ep, c, ref)()
		return f(ctx, vm)
	})
}

// OnExisting is On for reverts: it does nothing if the target is gone.
func OnExisting(ctx context.Context, c *kinds.Call, f func(context.Context, *VM) error) error {
	if err := On(ctx, c, f); !IsGone(err) {
		return err
	}
	return nil
}

// Causing makes the call the cause of what happens to a VM, until release is called.
func Causing(ep *kinds.Endpoint, c *kinds.Call, ref Ref) func() {
	if ep.Sim == nil || c.Seq == 0 {
		return func() {}
	}
	return ep.Sim.Guests().CausingRef(ref, c.Seq)
}

// IsGone reports whether an error means that the object does not exist any more.
func IsGone(err error) bool {
	return err != nil && fault.Is(err, &types.ManagedObjectNotFound{})
}

// WaitTask waits for a task.
func WaitTask(ctx context.Context, t *object.Task, err error) error {
	if err != nil {
		return err
	}
	return WaitError(ctx, t.Wait(ctx))
}

// WaitError returns the error of an aborted wait of govmomi, which returns nil when ctx was canceled.
func WaitError(ctx context.Context, err error) error {
	if err == nil {
		return context.Cause(ctx)
	}
	return err
}

// WaitResult waits for a task whose result is an object.
func WaitResult(ctx context.Context, t *object.Task, err error) (Ref, error) {
	if err != nil {
		return Ref{}, err
	}
	info, err := t.WaitForResult(ctx, nil)
	if err := WaitError(ctx, err); err != nil {
		return Ref{}, err
	}
	ref, ok := info.Result.(Ref)
	if !ok {
		return Ref{}, errors.New("task " + info.Name + ": has no object as its result")
	}
	return ref, nil
}

// LeaseName returns a name for what is done for a lease.
func LeaseName(c *kinds.Call, what string) string { return c.Lease + " " + what }

// PowerState is the power state of a VM.
type PowerState = types.VirtualMachinePowerState

// The power states.
const (
	PoweredOn  = types.VirtualMachinePowerStatePoweredOn
	PoweredOff = types.VirtualMachinePowerStatePoweredOff
	Suspended  = types.VirtualMachinePowerStateSuspended
)

// PowerText formats a power state.
func PowerText(s PowerState) string {
	switch s {
	case PoweredOn:
		return "on"
	case PoweredOff:
		return "off"
	case Suspended:
		return "suspended"
	}
	return string(s)
}

// Power brings the VM into a power state from any other one.
func (vm *VM) Power(ctx context.Context, want PowerState) error {
	now := vm.Runtime.PowerState
	if now == want {
		return nil
	}
	if want == Suspended && now == PoweredOff || now == Suspended && want == Suspended {
		if err := vm.step(ctx, PoweredOn); err != nil {
			return err
		}
	}
	return vm.step(ctx, want)
}

func (vm *VM) step(ctx context.Context, want PowerState) error {
	f := vm.PowerOff
	switch want {
	case PoweredOn:
		f = vm.PowerOn
	case Suspended:
		f = vm.Suspend
	}
	t, err := f(ctx)
	if err := WaitTask(ctx, t, err); err != nil {
		return err
	}
	vm.Runtime.PowerState = want
	return nil
}

// Reachable refuses templates, and VMs with a missing host or missing files.
func (vm *VM) Reachable() error {
	if vm.Config.Template {
		return kinds.Refuse("vm %s: is a template, which is nothing that runs", vm.Name)
	}
	if s := vm.Runtime.ConnectionState; s != "" && s != types.VirtualMachineConnectionStateConnected {
		return kinds.Refuse("vm %s: is %s: vCenter can do nothing with it", vm.Name, s)
	}
	return nil
}

// Running refuses VMs that do not run.
func (vm *VM) Running() error {
	if err := vm.Reachable(); err != nil {
		return err
	}
	if vm.Runtime.PowerState != PoweredOn {
		return kinds.Refuse("vm %s: is %s", vm.Name, PowerText(vm.Runtime.PowerState))
	}
	return nil
}

// UUID returns a random UUID.
func UUID(r *rand.Rand) string {
	var id uuid.UUID
	for i := range id {
		id[i] = byte(r.Uint32())
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // version 4 of RFC 9562
	return id.String()
}

// LockFiles calls f, which creates, moves or removes files of a VM, exclusively in the target's vCenter: vcsim reads datastores and
// folders without locks. f must not call it again.
func LockFiles(ctx context.Context, c *kinds.Call, f func() error) error {
	end, err := c.Lock(ctx, "files of "+c.Target.VCenter)
	if err != nil {
		return err
	}
	defer end()
	return f()
}
