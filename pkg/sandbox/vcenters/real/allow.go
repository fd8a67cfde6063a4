package real

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

// The functions of this file refuse a request early, with a message for the user. The guard behind the front, which every
// request passes, is what protects a vCenter.

// Lacks implements [vcenters.Source].
func (*Source) Lacks(k *fault.Kind) string {
	if slices.Contains(k.Needs, fault.Simulator) {
		return "takes " + fault.Simulator.String() + ", which there is not here"
	}
	if len(k.Needs) > 0 {
		return ""
	}
	switch k.Object {
	case fault.Host, fault.Cluster, fault.Datacenter, fault.Datastore:
		return "only a simulated vCenter can do that, and these are real"
	}
	return ""
}

// Confirms implements [vcenters.Source].
func (*Source) Confirms() bool { return true }

// AllowVM implements [vcenters.Source].
func (s *Source) AllowVM(vm world.VM, r api.VMRequest) error {
	switch r.Action {
	case api.Hang: // sends nothing to the vCenter
		return nil
	case api.PowerOn, api.PowerOff, api.Suspend, api.Reset:
	default:
		return vcenters.OnlySimulated(vm.VCenter, fmt.Sprintf("vm %s %s", r.Action, vm.Name))
	}
	if err := s.writable(vm); err != nil {
		return err
	}
	if !r.Confirmed {
		return unconfirmed("%s the real VM %s%s: %s", r.Action, vm.VCenter, vm.Path, s.endOf(r.Action, vm.Power))
	}
	return nil
}

// endOf describes how an action on a VM with that power state ends.
func (s *Source) endOf(a api.VMAction, power string) string {
	switch {
	case a == api.Reset:
		return "this cannot be taken back"
	case s.Keep:
		return "it stays so, as --keep-writes says; what its guest was at is lost"
	}
	return fmt.Sprintf("when the sandbox ends, it is %s again; what its guest was at is lost", power)
}

// AllowVolume implements [vcenters.Source].
func (s *Source) AllowVolume(vc *vcenters.VCenter, v api.Volume, r api.VolumeRequest) error {
	if r.Action != api.DetachVolume {
		return vcenters.OnlySimulated(vc.Name(), fmt.Sprintf("volume %s %s", r.Action, v.Name))
	}
	held, _ := vc.Volume(v.Handle)
	vm, ok := vc.Inventory.VM(held.VM)
	if !ok {
		return api.Conflict("volume %q: is attached to no VM", v.Name)
	}
	if err := s.writable(vm); err != nil {
		return err
	}
	if !r.Confirmed {
		back := "when the sandbox ends, it is attached again"
		if s.Keep {
			back = "it stays so, as --keep-writes says"
		}
		return unconfirmed("detach volume %s from the real VM %s%s: %s", v.Name, vm.VCenter, vm.Path, back)
	}
	return nil
}

// AllowFault implements [vcenters.Source]. It is about faults that write to a real vCenter, not about those of its gate or of
// processes.
func (s *Source) AllowFault(ctx context.Context, e *fault.Engine, r fault.Request, confirmed bool) error {
	kind, err := fault.Find(catalogue.Kinds(), r.Kind)
	if err != nil {
		return err
	}
	if len(kind.Needs) > 0 || kind.Object == fault.VCenter || kind.Object == fault.Node || kind.Object == fault.Component {
		return nil
	}
	l, err := e.Plan(ctx, r)
	if err != nil {
		return err
	}
	var names []string
	for _, t := range l.Targets {
		vc := s.list.Find(t.Target.VCenter)
		if vc == nil {
			continue
		}
		if t.Target.Kind != fault.VM {
			return vcenters.OnlySimulated(vc.Name(), kind.Name)
		}
		vm, ok := vc.Inventory.VM(t.Target.Ref)
		if !ok {
			continue
		}
		if err := s.writable(vm); err != nil {
			return err
		}
		names = append(names, vm.VCenter+vm.Path)
	}
	if len(names) > 0 && !confirmed {
		slices.Sort(names)
		// A fault is healed when the sandbox ends, also where writes are kept: to heal it is a write then.
		err := unconfirmed("%s on real VMs (%s): it is taken back when it is healed, or when the sandbox ends", kind.Name, strings.Join(names, ", "))
		err.Seed = l.Seed // so that the confirmed request has the same targets
		return err
	}
	return nil
}

// writable returns why a VM may not be written to. Its own tags are not watched: where they decide, the guard does.
func (s *Source) writable(vm world.VM) error {
	if !s.Scope.AllowWrites {
		return &api.Error{
			Code: "refused", Message: fmt.Sprintf("read-only: vm %q is in the real vCenter %q", vm.Name, vm.VCenter),
			Try: "up with --allow-writes, and --write-folder or --write-tag",
		}
	}
	err := s.Scope.CheckVM(inventory.VM{VCenter: vm.VCenter, Path: vm.Path, Folder: folder(vm)})
	if err == nil || len(s.Scope.Tags) > 0 || !errors.Is(err, scope.ErrRefused) {
		return nil
	}
	return &api.Error{Code: "refused", Message: err.Error(), Try: "up with another --write-folder or --write-tag"}
}

// folder returns the folder of a VM below its datacenter's VM folder.
func folder(vm world.VM) string {
	_, below, _ := strings.Cut(vm.Path, "/"+vm.Datacenter+"/vm/")
	return strings.Trim(strings.TrimSuffix(below, vm.Name), "/")
}

func unconfirmed(format string, args ...any) *api.Error {
	return &api.Error{Code: "unconfirmed", Message: fmt.Sprintf(format, args...), Try: "the same with --yes"}
}
