package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

// serviced is a host in maintenance mode.
type serviced struct {
	// VMs were on the host, and return to it.
	VMs []vsphere.Ref `json:"vms,omitempty"`
	// Task is the task that enters maintenance mode and waits for VMs to leave.
	Task vsphere.Ref `json:"task,omitzero"`
}

func maintenance() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "host.maintenance",
		Short: "puts hosts into maintenance mode, with their VMs moved to other hosts",
		Long: `VMs that are on are moved by vMotion, and run on: nodes get the zone of another host, if it has one. With evacuate=false
that is left to DRS: in a cluster without it the host waits until a user moves or stops its VMs.
Healing ends maintenance mode and moves the VMs back.`,
		Object: fault.Host, Aspect: "host",
		Params: []fault.Param{{Name: "evacuate", Short: "move VMs that DRS does not move", Type: fault.Bool, Default: "true"}},
	}, fault.Steps[serviced]{Plan: planMaintenance, Apply: enterMaintenance, Revert: exitMaintenance})
}

func planMaintenance(ctx context.Context, c *fault.Call) (s serviced, does string, err error) {
	ep, err := vsphere.At(c)
	if err != nil {
		return s, "", err
	}
	h, on, err := look(ctx, ep, c.Target.Ref)
	if err != nil {
		return s, "", err
	}
	if err := inOrder(h); err != nil {
		return s, "", err
	}
	if h.Runtime.InMaintenanceMode {
		return s, "", fault.Refuse("host %q: is in maintenance mode already", h.Name)
	}
	for _, vm := range on {
		s.VMs = append(s.VMs, vm.Self)
	}
	if !c.Params.Bool("evacuate") {
		return s, fmt.Sprintf("enter maintenance mode when DRS, or a user, has moved %s", count(len(on))), nil
	}
	others, err := otherHosts(ctx, ep, h)
	if err != nil {
		return s, "", err
	}
	for _, vm := range on {
		if _, ok := others.take(vm); !ok {
			return s, "", fault.Refuse("host %q: no other host of its cluster can take vm %q", h.Name, vm.Name)
		}
	}
	return s, fmt.Sprintf("enter maintenance mode, with %s moved to other hosts", count(len(on))), nil
}

func enterMaintenance(ctx context.Context, c *fault.Call, s *serviced) error {
	ep, err := vsphere.At(c)
	if err != nil {
		return err
	}
	defer vsphere.Causing(c, ep, append([]vsphere.Ref{c.Target.Ref}, s.VMs...)...)()
	evacuate := c.Params.Bool("evacuate")
	if evacuate {
		if err := leave(ctx, ep, c.Target.Ref); err != nil {
			return err
		}
	}
	return ep.SOAP(ctx, func(ctx context.Context, vc *vim25.Client) error {
		task, err := object.NewHostSystem(vc, c.Target.Ref).EnterMaintenanceMode(ctx, 0, false, nil)
		if err != nil {
			return err
		}
		s.Task = task.Reference()
		if !evacuate {
			return nil // it may never end
		}
		if err := task.Wait(ctx); err != nil {
			return err
		}
		return context.Cause(ctx) // govmomi returns nil for an aborted wait
	})
}

func exitMaintenance(ctx context.Context, c *fault.Call, s *serviced) error {
	ep, err := vsphere.At(c)
	if err != nil {
		return err
	}
	defer vsphere.Causing(c, ep, append([]vsphere.Ref{c.Target.Ref}, s.VMs...)...)()
	if s.Task != (vsphere.Ref{}) {
		if err := ep.SOAP(ctx, func(ctx context.Context, vc *vim25.Client) error {
			task := object.NewTask(vc, s.Task)
			_ = task.Cancel(ctx) // InvalidState once it has ended
			_ = task.Wait(ctx)   // canceled
			return ctx.Err()
		}); err != nil {
			return err
		}
	}
	var h mo.HostSystem
	if err := vsphere.Get(ctx, ep, c.Target.Ref, &h, "runtime"); vsphere.IsGone(err) {
		return nil
	} else if err != nil {
		return err
	}
	if h.Runtime.InMaintenanceMode {
		if err := vsphere.Run(ctx, ep, func(ctx context.Context, vc *vim25.Client) (*object.Task, error) {
			return object.NewHostSystem(vc, c.Target.Ref).ExitMaintenanceMode(ctx, 0)
		}); err != nil {
			return err
		}
	}
	var errs []error
	for _, ref := range s.VMs {
		var vm mo.VirtualMachine
		if err := vsphere.Get(ctx, ep, ref, &vm, "name", "runtime"); vsphere.IsGone(err) {
			continue
		} else if err != nil {
			return err
		}
		if vm.Runtime.Host != nil && *vm.Runtime.Host == c.Target.Ref {
			continue
		}
		if err := move(ctx, ep, ref, c.Target.Ref); err != nil && !vsphere.IsGone(err) {
			errs = append(errs, fmt.Errorf("vm %q: move back: %w", vm.Name, err))
		}
	}
	return errors.Join(errs...)
}

// move moves a VM to another host with vMotion.
func move(ctx context.Context, ep *fault.Endpoint, vm, to vsphere.Ref) error {
	return vsphere.Run(ctx, ep, func(ctx context.Context, vc *vim25.Client) (*object.Task, error) {
		return object.NewVirtualMachine(vc, vm).Relocate(ctx, types.VirtualMachineRelocateSpec{Host: &to}, types.VirtualMachineMovePriorityDefaultPriority)
	})
}

// places are the other hosts of a cluster, with their number of VMs.
type places []*place

type place struct {
	host mo.HostSystem
	vms  int
}

// otherHosts returns the hosts of the host's cluster that can take VMs.
func otherHosts(ctx context.Context, ep *fault.Endpoint, h mo.HostSystem) (places, error) {
	if h.Parent == nil || h.Parent.Type != "ClusterComputeResource" {
		return nil, nil
	}
	var cluster mo.ClusterComputeResource
	if err := vsphere.Get(ctx, ep, *h.Parent, &cluster, "host"); err != nil {
		return nil, err
	}
	var hosts []mo.HostSystem
	if err := vsphere.GetAll(ctx, ep, cluster.Host, &hosts, "name", "runtime", "datastore", "vm"); err != nil {
		return nil, err
	}
	var all places
	for _, other := range hosts {
		r := other.Runtime
		if other.Self != h.Self && r.ConnectionState == types.HostSystemConnectionStateConnected && !r.InMaintenanceMode {
			all = append(all, &place{host: other, vms: len(other.Vm)})
		}
	}
	return all, nil
}

// take returns the host with the fewest VMs that has the datastores of the VM, and counts the VM there.
func (p places) take(vm mo.VirtualMachine) (vsphere.Ref, bool) {
	var best *place
	for _, one := range p {
		lacks := slices.ContainsFunc(vm.Datastore, func(d vsphere.Ref) bool { return !slices.Contains(one.host.Datastore, d) })
		if !lacks && (best == nil || one.vms < best.vms) {
			best = one
		}
	}
	if best == nil {
		return vsphere.Ref{}, false
	}
	best.vms++
	return best.host.Self, true
}

// leave moves the running VMs away from the host.
func leave(ctx context.Context, ep *fault.Endpoint, ref vsphere.Ref) error {
	h, on, err := look(ctx, ep, ref)
	if err != nil {
		return err
	}
	others, err := otherHosts(ctx, ep, h)
	if err != nil {
		return err
	}
	for _, vm := range on {
		to, ok := others.take(vm)
		if !ok {
			return fmt.Errorf("vm %q: no other host can take it", vm.Name)
		}
		if err := move(ctx, ep, vm.Self, to); err != nil && !vsphere.IsGone(err) {
			return fmt.Errorf("vm %q: move away: %w", vm.Name, err)
		}
	}
	return nil
}
