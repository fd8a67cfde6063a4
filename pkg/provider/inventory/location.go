package inventory

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

var (
	// ErrNotConfigured says that the inventory does not include the vCenter of a [Location].
	ErrNotConfigured = errors.New("vcenter is not configured")
	// ErrUUIDChanged says that the VM at a [Location] has another BIOS UUID than the one that was asked for.
	ErrUUIDChanged = errors.New("its bios uuid was changed")
)

// Location identifies a VM by its place in a vCenter, and not by its UUID. It is comparable.
type Location struct {
	// VCenter is the vCenter's instance UUID: it outlives an upgrade, and a change of the vCenter's name or address.
	VCenter string
	// VM is the value of the VM's reference, "vm-42". A VM keeps it for as long as it is registered.
	VM string
}

// Locate returns the location of a VM of the index. The error says that its vCenter is not connected at the moment, or
// reports no instance UUID.
func (inv *Inventory) Locate(vm *VM) (Location, error) {
	m := inv.member(vm.VCenter)
	if m == nil {
		return Location{}, fmt.Errorf("vcenter %q: %w", vm.VCenter, ErrNotConfigured)
	}
	id, err := m.instanceUUID()
	if err != nil {
		return Location{}, err
	}
	return Location{VCenter: id, VM: vm.Ref.Value}, nil
}

// ConfirmRemoved asks the vCenter of a location whether it still has the VM there. It returns nil only when that vCenter
// answers that the reference does not exist. [ErrNotConfigured] means that no vCenter of the inventory is the one of the
// location, [ErrStillThere] that the reference resolves, together with [ErrUUIDChanged] when the VM has another BIOS UUID
// than u. Any other error, a missing permission for one, is a doubt. It makes one call to one vCenter, bounded by the call
// timeout, and none while any vCenter is out of reach: that one may be the vCenter of the location.
//
// It does not replace [Inventory.ConfirmAbsent]: a VM that is registered again has another reference.
func (inv *Inventory) ConfirmRemoved(ctx context.Context, at Location, u UUID) error {
	if err := inv.doubt(); err != nil {
		return err
	}
	asked := false
	for _, m := range inv.members {
		id, err := m.instanceUUID()
		switch {
		case errors.Is(err, errNoInstanceUUID):
			continue // it is not the one: its nodes have no location
		case err != nil:
			return err
		case !strings.EqualFold(id, at.VCenter):
			continue
		}
		asked = true
		if err := m.client.Do(ctx, func(ctx context.Context, s *vcenter.Session) error { return removed(ctx, s, at, u) }); err != nil {
			return err
		}
	}
	if !asked {
		return ErrNotConfigured
	}
	return inv.doubt()
}

var errNoInstanceUUID = errors.New("it reports no instance uuid")

// instanceUUID returns that of the vCenter that the source is connected to.
func (s *source) instanceUUID() (string, error) {
	session, err := s.client.Session()
	if err != nil {
		return "", err
	}
	if id := session.Vim.ServiceContent.About.InstanceUuid; id != "" {
		return id, nil
	}
	return "", fmt.Errorf("vcenter %q: %w", s.client.Name(), errNoInstanceUUID)
}

// removed is nil when the vCenter of the session answers that it has no object of that reference. An object that exists
// and that the account may not see is answered with NoPermission (docs/simulation.md, "Users, permissions, sessions").
func removed(ctx context.Context, s *vcenter.Session, at Location, u UUID) error {
	if id := s.Vim.ServiceContent.About.InstanceUuid; !strings.EqualFold(id, at.VCenter) {
		return fmt.Errorf("another vcenter answers now, instance uuid %q", id)
	}
	ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: at.VM}
	var vm mo.VirtualMachine
	err := property.DefaultCollector(s.Vim).RetrieveOne(ctx, ref, []string{"name", "summary.config.uuid"}, &vm)
	switch {
	case vcenter.Gone(err):
		return nil
	case err != nil:
		return fmt.Errorf("read %s: %w", ref, err)
	case vm.Self != ref:
		return fmt.Errorf("read %s: the answer is empty", ref)
	}
	now, err := match.ParseUUID(vm.Summary.Config.Uuid)
	if err == nil && !now.Is(u) {
		return fmt.Errorf("%w: %s (%s), and %w to %s", ErrStillThere, vm.Name, at.VM, ErrUUIDChanged, now)
	}
	return fmt.Errorf("%w: %s (%s) resolves though no search finds it", ErrStillThere, vm.Name, at.VM)
}
