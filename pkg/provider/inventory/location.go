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
	// ErrNotConfigured reports that the inventory does not include the vCenter of a [Location].
	ErrNotConfigured = errors.New("vcenter is not configured")
	// ErrUUIDChanged reports that the VM at a [Location] has another BIOS UUID than the expected one.
	ErrUUIDChanged = errors.New("its bios uuid was changed")
)

// Location identifies a VM by vCenter and reference instead of by UUID. It is comparable.
type Location struct {
	// VCenter is the vCenter's instance UUID, which stays the same when the vCenter is upgraded or renamed.
	VCenter string
	// VM is the value of the VM's reference, "vm-42". It stays the same while the VM is registered.
	VM string
}

// Locate returns the location of a VM of the index. It returns an error if the VM's vCenter is not connected or reports no
// instance UUID.
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

// ConfirmRemoved queries the vCenter of a location for the VM there. It returns nil only if that vCenter reports that the
// reference does not exist. [ErrNotConfigured] means that the inventory does not include the vCenter, [ErrStillThere] that
// the reference resolves; it comes with [ErrUUIDChanged] if the VM has another BIOS UUID than u. Any other error, such as a
// missing permission, is a doubt. ConfirmRemoved makes one call to one vCenter, bounded by the call timeout. It makes none
// while any vCenter is unreachable, because that one may be the vCenter of the location.
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
			continue // not the location's vCenter, which has an instance UUID
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

// instanceUUID returns the instance UUID of the connected vCenter.
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

// removed returns nil if the session's vCenter reports that it has no object with that reference. For an object that the
// account may not see, a vCenter reports NoPermission (docs/simulation.md, "Users, permissions, sessions").
func removed(ctx context.Context, s *vcenter.Session, at Location, u UUID) error {
	if id := s.Vim.ServiceContent.About.InstanceUuid; !strings.EqualFold(id, at.VCenter) {
		return fmt.Errorf("another vcenter answers at this address now, instance uuid %q", id)
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
		return fmt.Errorf("read %s: the vcenter returned an empty result", ref)
	}
	now, err := match.ParseUUID(vm.Summary.Config.Uuid)
	if err == nil && !now.Is(u) {
		return fmt.Errorf("%w: %s (%s), and %w to %s", ErrStillThere, vm.Name, at.VM, ErrUUIDChanged, now)
	}
	return fmt.Errorf("%w: %s (%s) resolves though no search finds it", ErrStillThere, vm.Name, at.VM)
}
