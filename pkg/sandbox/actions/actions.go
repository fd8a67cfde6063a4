// Package actions carries out the requests of the control API that act on VMs, on Nodes and on the gates of vCenters.
//
// Floor 3.
package actions

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// Actions acts on the objects of a sandbox. Its methods may be called from any goroutine.
type Actions struct {
	Log *event.Log
	// World is nil as long as there are no vCenters.
	World    func() *world.World
	VCenters func() vcenters.List
	// Allow returns why an action on a VM is refused, nil when it is not.
	Allow func(world.VM, api.VMRequest) error
	// Hang stops the guest of a VM; false when the guest does not run.
	Hang func(world.VM) bool
	// NSX returns the gate of the NSX Manager, Supervisor that of the Supervisor; nil without one. Optional.
	NSX, Supervisor func() *gate.Gate
	// Kubernetes is nil as long as there is no cluster.
	Kubernetes func() kubernetes.Interface
	// ReadOnlyNodes: the Nodes of the cluster are not the sandbox's.
	ReadOnlyNodes func() bool
}

// Register adds the handlers of the control API.
func (a *Actions) Register(mux *http.ServeMux) {
	mux.Handle("POST /v1/vm", control.Request(a.VM))
	mux.Handle("POST /v1/gate", control.Request(a.Gate))
	mux.Handle("POST /v1/out-of-service", control.Request(a.OutOfService))
}

// VM acts on a VM through the API of its vCenter, and returns when the vCenter reports the action as done.
func (a *Actions) VM(ctx context.Context, r api.VMRequest) (api.Done, error) {
	w := a.World()
	if w == nil {
		return api.Done{}, api.NotBuilt()
	}
	vm, err := world.Find(w.VMs(), r)
	if err != nil {
		return api.Done{}, err
	}
	if err := a.Allow(vm, r); err != nil {
		return api.Done{}, err
	}
	seq := a.Log.Append(event.Event{
		Plane: event.PlaneSandbox, Kind: "command." + string(r.Action),
		Object:  event.Object{Kind: "VM", VCenter: vm.VCenter, Name: vm.Name},
		Message: strings.TrimSpace(fmt.Sprintf("vm %s %s %s", r.Action, vm.Name, r.Host)),
	})
	if r.Action == api.Hang {
		if !a.Hang(vm) {
			return api.Done{}, api.Conflict("vm %q has no running guest to hang", vm.Name)
		}
		a.Log.Append(event.Event{
			Plane: event.PlaneSandbox, Level: event.Warning, Kind: "node.hung", Cause: seq,
			Object: event.Object{Kind: "Node", VCenter: vm.VCenter, Name: strings.ToLower(vm.Hostname)}, Message: "kubelet stopped where it stood; the vCenter sees a running VM",
		})
		return api.Done{Message: fmt.Sprintf("vm %q hangs; reset it to end that", vm.Name), Seq: seq}, nil
	}
	operate, ok := operations()[r.Action]
	if !ok {
		return api.Done{}, &api.Error{Code: "invalid", Message: fmt.Sprintf("action %q: no such action", r.Action)}
	}
	vc := a.VCenters().Find(vm.VCenter)
	release := vc.Causing(vm.Name, seq)
	defer release()
	var done string
	err = vc.Client.Do(ctx, func(ctx context.Context, session *vcenter.Session) (err error) {
		done, err = operate(ctx, object.NewVirtualMachine(session.Vim, vm.Ref), vm, r)
		return err
	})
	if err != nil {
		a.Log.Append(event.Event{
			Plane: event.PlaneSandbox, Level: event.Warning, Kind: "command.failed", Cause: seq,
			Object: event.Object{Kind: "VM", VCenter: vm.VCenter, Name: vm.Name}, Message: vcenters.ErrorText(err),
		})
	}
	var answer *api.Error
	switch {
	case errors.As(err, &answer):
		return api.Done{}, answer
	case errors.Is(err, vcenter.ErrNotConnected):
		return api.Done{}, &api.Error{Code: "unavailable", Message: err.Error()}
	case err != nil:
		return api.Done{}, api.Conflict("vm %q: %s: %s", vm.Name, r.Action, vcenters.ErrorText(err))
	}
	return api.Done{Message: fmt.Sprintf("vm %q %s", vm.Name, done), Seq: seq}, nil
}

// operation makes the vSphere calls of an action, and returns the new state of the VM for the message.
type operation func(context.Context, *object.VirtualMachine, world.VM, api.VMRequest) (string, error)

func operations() map[api.VMAction]operation {
	simple := func(done string, call func(*object.VirtualMachine, context.Context) (*object.Task, error)) operation {
		return func(ctx context.Context, vm *object.VirtualMachine, _ world.VM, _ api.VMRequest) (string, error) {
			return done, await(ctx)(call(vm, ctx))
		}
	}
	return map[api.VMAction]operation{
		api.PowerOn:  simple("powered on", (*object.VirtualMachine).PowerOn),
		api.PowerOff: simple("powered off", (*object.VirtualMachine).PowerOff),
		api.Suspend:  simple("suspended", (*object.VirtualMachine).Suspend),
		api.Reset:    simple("reset", (*object.VirtualMachine).Reset),
		api.Move:     move,
		api.Destroy:  destroy,
	}
}

// await returns a function that waits for a task.
func await(ctx context.Context) func(*object.Task, error) error {
	return func(t *object.Task, err error) error {
		if err != nil {
			return err
		}
		// Wait returns nil when ctx ends before the task.
		return errors.Join(t.Wait(ctx), ctx.Err())
	}
}

// move migrates a VM to another host of its datacenter, into that host's resource pool.
func move(ctx context.Context, vm *object.VirtualMachine, v world.VM, r api.VMRequest) (string, error) {
	if r.Host == "" {
		return "", &api.Error{Code: "invalid", Message: fmt.Sprintf("vm %q: move: no host named", v.Name), Try: "vm move " + v.Name + " --to HOST"}
	}
	finder := find.NewFinder(vm.Client())
	dcPath, _, _ := strings.Cut(v.Path, "/vm/")
	dc, err := finder.Datacenter(ctx, dcPath)
	if err != nil {
		return "", err
	}
	finder.SetDatacenter(dc)
	host, err := finder.HostSystem(ctx, r.Host)
	if err != nil {
		return "", &api.Error{
			Code: "not-found", Message: fmt.Sprintf("host %q: not in datacenter %q of vm %q", r.Host, v.Datacenter, v.Name),
			Try: "vsphere-sandbox get hosts",
		}
	}
	pool, err := host.ResourcePool(ctx)
	if err != nil {
		return "", err
	}
	to, from := host.Reference(), pool.Reference()
	return "moved to host " + r.Host, await(ctx)(vm.Relocate(ctx, types.VirtualMachineRelocateSpec{Host: &to, Pool: &from}, types.VirtualMachineMovePriorityDefaultPriority))
}

// destroy powers a VM off if it is on, as a vCenter requires, and deletes it with its disks.
func destroy(ctx context.Context, vm *object.VirtualMachine, v world.VM, _ api.VMRequest) (string, error) {
	if v.Power != "off" {
		if err := await(ctx)(vm.PowerOff(ctx)); err != nil && !fault.Is(err, &types.InvalidPowerState{}) {
			return "", err
		}
	}
	return "destroyed", await(ctx)(vm.Destroy(ctx))
}

// Supervisor is the name of the Supervisor in [api.GateRequest], unless a vCenter has it.
const Supervisor = "supervisor"

// gate returns the gate of a vCenter, of the NSX Manager or of the Supervisor, or nil.
func (a *Actions) gate(name string) *gate.Gate {
	if vc := a.VCenters().Find(name); vc != nil {
		return vc.Gate()
	}
	if name == api.NSXName && a.NSX != nil { // unless a vCenter has the name
		return a.NSX()
	}
	if name == Supervisor && a.Supervisor != nil {
		return a.Supervisor()
	}
	return nil
}

// Gate changes how a vCenter, the NSX Manager or the Supervisor answers its clients. The sandbox's own connection is not affected.
func (a *Actions) Gate(ctx context.Context, r api.GateRequest) (api.Done, error) {
	if a.World() == nil {
		return api.Done{}, api.NotBuilt()
	}
	front := a.gate(r.VCenter)
	if front == nil {
		return api.Done{}, &api.Error{Code: "not-found", Message: fmt.Sprintf("vcenter %q not found", r.VCenter), Try: "vsphere-sandbox get vcenters"}
	}
	mode := gate.Mode{State: gate.State(r.Mode), Delay: time.Duration(r.Delay)}
	if err := front.Set(ctx, mode); err != nil {
		return api.Done{}, &api.Error{Code: "invalid", Message: fmt.Sprintf("vcenter %q: %v", r.VCenter, err)}
	}
	return api.Done{Message: fmt.Sprintf("vcenter %q is %s", r.VCenter, mode), Seq: a.Log.Last()}, nil
}
