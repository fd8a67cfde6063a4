package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

// What stands here is said before anything is sent, in words for people. What keeps a vCenter safe is the guard behind its
// front, which everything passes.

// backWords say of what is done to a real VM how it ends.
func (r *Real) backWords(a api.VMAction, power string) string {
	back := map[string]string{"on": "on", "off": "off", "suspended": "suspended"}[power]
	switch a {
	case api.PowerOn, api.PowerOff, api.Suspend:
		if r.Keep {
			return "it stays so, as --keep-writes says; what its guest was at is lost"
		}
		return fmt.Sprintf("when the sandbox ends, it is %s again; what its guest was at is lost", back)
	}
	return "this cannot be taken back"
}

// mayAct says why something is not done to a VM of a real vCenter; nil when it is, and for a simulated one.
func (s *Sandbox) mayAct(vm world.VM, r api.VMRequest) error {
	if g, ok := s.ground.(ground.NodeSource); ok && r.Action == api.Hang {
		return g.Refuse(fmt.Sprintf("vm %q: a guest is hung", vm.Name))
	}
	vc := s.vcenters.Find(vm.VCenter)
	if vc == nil || vc.Sim != nil || r.Action == api.Hang { // of a hang the vCenter hears nothing
		return nil
	}
	switch r.Action {
	case api.PowerOn, api.PowerOff, api.Suspend, api.Reset:
	default:
		return vcenters.OnlySimulated(vm.VCenter, fmt.Sprintf("vm %s %s", r.Action, vm.Name))
	}
	if err := s.writable(vc, vm); err != nil {
		return err
	}
	if !r.Confirmed {
		return unconfirmed("%s the real VM %s%s: %s", r.Action, vm.VCenter, vm.Path, s.opts.Real.backWords(r.Action, vm.Power))
	}
	return nil
}

// mayActOnVolume is mayAct for a volume.
func (s *Sandbox) mayActOnVolume(vc *vcenters.VCenter, v api.Volume, r api.VolumeRequest) error {
	if vc.Sim != nil {
		return nil
	}
	if r.Action != api.DetachVolume {
		return vcenters.OnlySimulated(vc.Name(), fmt.Sprintf("volume %s %s", r.Action, v.Name))
	}
	held, _ := vc.Volume(v.Handle)
	vm, ok := vc.Inventory.VM(held.VM)
	if !ok {
		return api.Conflict("volume %q: is attached to no VM", v.Name)
	}
	if err := s.writable(vc, vm); err != nil {
		return err
	}
	if !r.Confirmed {
		back := "when the sandbox ends, it is attached again"
		if s.opts.Real.Keep {
			back = "it stays so, as --keep-writes says"
		}
		return unconfirmed("detach volume %s from the real VM %s%s: %s", v.Name, vm.VCenter, vm.Path, back)
	}
	return nil
}

// mayInject is mayAct for a fault: one that is done through the API of a real vCenter, not at its gate or to processes.
func (s *Sandbox) mayInject(ctx context.Context, e *fault.Engine, r fault.Request, confirmed bool) error {
	if s.real == nil {
		return nil
	}
	kind, err := fault.Find(catalogue.Kinds(), r.Kind)
	if err != nil {
		return err
	}
	if why := s.refuses(kind); why != "" {
		return &api.Error{Code: "unsupported", Message: kind.Name + ": " + why, Try: "vsphere-sandbox record, then up with the recording"}
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
		vc := s.vcenters.Find(t.Target.VCenter)
		if vc == nil || vc.Sim != nil {
			continue
		}
		if t.Target.Kind != fault.VM {
			return vcenters.OnlySimulated(vc.Name(), kind.Name)
		}
		vm, ok := vc.Inventory.VM(t.Target.Ref)
		if !ok {
			continue
		}
		if err := s.writable(vc, vm); err != nil {
			return err
		}
		names = append(names, vm.VCenter+vm.Path)
	}
	if len(names) > 0 && !confirmed {
		slices.Sort(names)
		// A fault is healed when the sandbox ends, also where writes are kept: the way back is a write then.
		err := unconfirmed("%s on real VMs (%s): it is taken back when it is healed, or when the sandbox ends", kind.Name, strings.Join(names, ", "))
		err.Seed = l.Seed // what is confirmed is done to these, and no others
		return err
	}
	return nil
}

// writable says why a VM of a real vCenter may not be written to. Its own tags are not watched: where they decide, it is the
// guard that does.
func (s *Sandbox) writable(vc *vcenters.VCenter, vm world.VM) error {
	allowed := s.opts.Real.Scope
	if !allowed.AllowWrites {
		return &api.Error{
			Code: "refused", Message: fmt.Sprintf("read-only: vm %q is in the real vCenter %q", vm.Name, vc.Name()),
			Try: "up with --allow-writes, and --write-folder or --write-tag",
		}
	}
	err := allowed.Allows(inventory.VM{VCenter: vm.VCenter, Path: vm.Path, Folder: folderOf(vm)})
	if err == nil || len(allowed.Tags) > 0 || !errors.Is(err, scope.ErrRefused) {
		return nil
	}
	return &api.Error{Code: "refused", Message: err.Error(), Try: "up with another --write-folder or --write-tag"}
}

// folderOf is the folder of a VM below its datacenter's.
func folderOf(vm world.VM) string {
	_, below, _ := strings.Cut(vm.Path, "/"+vm.Datacenter+"/vm/")
	return strings.Trim(strings.TrimSuffix(below, vm.Name), "/")
}

func unconfirmed(format string, args ...any) *api.Error {
	return &api.Error{Code: "unconfirmed", Message: fmt.Sprintf(format, args...), Try: "the same with --yes"}
}
