package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// act does something to a VM through its vCenter's API, and returns when the vCenter reports it done.
func (s *Sandbox) act(ctx context.Context, r api.VMRequest) (api.Done, error) {
	if err := s.built(); err != nil {
		return api.Done{}, err
	}
	vm, err := world.Find(s.world.VMs(), r)
	if err != nil {
		return api.Done{}, err
	}
	if g, ok := s.sourced(); ok && r.Action == api.Hang {
		return api.Done{}, g.Refuse(fmt.Sprintf("vm %q: a guest is hung", vm.Name))
	}
	if err := s.source.AllowVM(vm, r); err != nil {
		return api.Done{}, err
	}
	seq := s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Kind: "command." + string(r.Action),
		Object:  event.Object{Kind: "VM", VCenter: vm.VCenter, Name: vm.Name},
		Message: strings.TrimSpace(fmt.Sprintf("vm %s %s %s", r.Action, vm.Name, r.Host)),
	})
	if r.Action == api.Hang {
		if !s.nodes.Hang(vm) {
			return api.Done{}, api.Conflict("vm %q has no running guest to hang", vm.Name)
		}
		s.log.Append(event.Event{
			Plane: event.PlaneSandbox, Level: event.Warning, Kind: "node.hung", Cause: seq,
			Object: event.Object{Kind: "Node", VCenter: vm.VCenter, Name: strings.ToLower(vm.Hostname)}, Message: "kubelet stopped where it stood; the vCenter sees a running VM",
		})
		return api.Done{Message: fmt.Sprintf("vm %q hangs; reset it to end that", vm.Name), Seq: seq}, nil
	}
	operate, ok := operations[r.Action]
	if !ok {
		return api.Done{}, &api.Error{Code: "invalid", Message: fmt.Sprintf("action %q: there is none of that name", r.Action)}
	}
	vc := s.vcenters.Find(vm.VCenter)
	release := vc.Causing(vm.Name, seq)
	defer release()
	done, err := "", error(nil)
	err = vc.Client.Do(ctx, func(ctx context.Context, session *vcenter.Session) error {
		done, err = operate(ctx, object.NewVirtualMachine(session.Vim, vm.Ref), vm, r)
		return err
	})
	if err != nil {
		s.log.Append(event.Event{
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

// operations are the vSphere calls behind the actions; each returns what the VM is after it.
var operations = map[api.VMAction]func(context.Context, *object.VirtualMachine, world.VM, api.VMRequest) (string, error){
	api.PowerOn: func(ctx context.Context, vm *object.VirtualMachine, v world.VM, _ api.VMRequest) (string, error) {
		return "powered on", await(ctx)(vm.PowerOn(ctx))
	},
	api.PowerOff: func(ctx context.Context, vm *object.VirtualMachine, _ world.VM, _ api.VMRequest) (string, error) {
		return "powered off", await(ctx)(vm.PowerOff(ctx))
	},
	api.Suspend: func(ctx context.Context, vm *object.VirtualMachine, _ world.VM, _ api.VMRequest) (string, error) {
		return "suspended", await(ctx)(vm.Suspend(ctx))
	},
	api.Reset: func(ctx context.Context, vm *object.VirtualMachine, _ world.VM, _ api.VMRequest) (string, error) {
		return "reset", await(ctx)(vm.Reset(ctx))
	},
	api.Move:    move,
	api.Destroy: destroy,
}

// await returns what waits for a task.
func await(ctx context.Context) func(*object.Task, error) error {
	return func(t *object.Task, err error) error {
		if err != nil {
			return err
		}
		// A wait that was given up ends without an error, as if the task were done.
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

// destroy powers a VM off if need be, as a vCenter demands, and deletes it with its disks.
func destroy(ctx context.Context, vm *object.VirtualMachine, v world.VM, _ api.VMRequest) (string, error) {
	if v.Power != "off" {
		if err := await(ctx)(vm.PowerOff(ctx)); err != nil && !fault.Is(err, &types.InvalidPowerState{}) {
			return "", err
		}
	}
	return "destroyed", await(ctx)(vm.Destroy(ctx))
}
