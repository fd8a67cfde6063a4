package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// ErrStillThere reports that a vCenter, queried directly, still has the VM.
var ErrStillThere = errors.New("vm is still there")

var errNoUUID = errors.New("it is no uuid")

// ConfirmAbsent queries every vCenter directly for a VM with this BIOS UUID, in either byte order. It returns nil only if
// all vCenters are in sync and reachable, and none has the VM. [ErrStillThere] means that one has it. Any other error is a
// doubt, from which the caller must conclude nothing: for example, a VM with this UUID outside the configured datacenters,
// or a VM for which the vCenter reports no UUID. Each vCenter gets a few calls in sequence, each with a separate timeout,
// and the first failure ends it. If a vCenter is already known to be unreachable, ConfirmAbsent makes no call.
func (inv *Inventory) ConfirmAbsent(ctx context.Context, u UUID) error {
	if err := inv.confirmAbsent(ctx, u); err != nil {
		return fmt.Errorf("cannot confirm that vm %s is gone: %w", u, err)
	}
	for _, m := range inv.members {
		m.index.forget(u)
	}
	return nil
}

func (inv *Inventory) confirmAbsent(ctx context.Context, u UUID) error {
	if u == (UUID{}) {
		return errNoUUID
	}
	if err := inv.doubt(); err != nil {
		return err
	}
	if err := inv.each(func(m *member) error { return m.confirmAbsent(ctx, u) }); err != nil {
		return err
	}
	// The vCenters are not queried at the same instant: a VM that moves between two of them may arrive at one after its
	// query, and leave the other before its query. A second search finds it.
	if len(inv.members) > 1 {
		if err := inv.each(func(m *member) error { return m.runQueries(ctx, searches(u)) }); err != nil {
			return err
		}
	}
	// Failures during the queries count too.
	return inv.doubt()
}

// each runs f for all vCenters concurrently and joins their errors.
func (inv *Inventory) each(f func(*member) error) error {
	errs := make([]error, len(inv.members))
	var wg sync.WaitGroup
	for i, m := range inv.members {
		wg.Go(func() { errs[i] = f(m) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// query is one call to a vCenter; it returns an error if the VM may exist.
type query = func(context.Context, *vcenter.Session) error

// confirmAbsent is [Inventory.ConfirmAbsent] for one vCenter.
func (m *member) confirmAbsent(ctx context.Context, u UUID) error {
	if err := m.checkOutOfScope(u); err != nil {
		return err
	}
	scope, err := m.scope()
	if err != nil {
		return err
	}
	var folders []types.ManagedObjectReference
	questions := []query{
		func(ctx context.Context, s *vcenter.Session) (err error) {
			folders, err = vmFolders(ctx, s, scope)
			return err
		},
		func(ctx context.Context, s *vcenter.Session) error { return readable(ctx, s, folders) },
	}
	questions = append(questions, searches(u)...)
	for _, ref := range m.index.lastSeen(u) {
		questions = append(questions, func(ctx context.Context, s *vcenter.Session) error { return resolve(ctx, s, ref) })
	}
	if err := m.runQueries(ctx, questions); err != nil {
		return err
	}
	return m.unidentified()
}

// runQueries stops at the first error. Each question is a separate Do, so that a vCenter that answers slowly is not treated as
// one that does not answer.
func (m *member) runQueries(ctx context.Context, questions []query) error {
	for _, q := range questions {
		if err := m.client.Do(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// searches returns the searches for a UUID in both byte orders.
func searches(u UUID) []query {
	return []query{
		func(ctx context.Context, s *vcenter.Session) error { return findByUUID(ctx, s, u) },
		func(ctx context.Context, s *vcenter.Session) error { return findByUUID(ctx, s, u.Swapped()) },
	}
}

// vmFolders reads the datacenters and returns their VM folders. For an account that has lost its permissions, a search
// returns an empty result (kubernetes-sigs/vsphere-csi-driver#2475), but this read returns a fault.
func vmFolders(ctx context.Context, s *vcenter.Session, datacenters []types.ManagedObjectReference) ([]types.ManagedObjectReference, error) {
	var found []mo.Datacenter
	if err := property.DefaultCollector(s.Vim).Retrieve(ctx, datacenters, []string{"name", "vmFolder"}, &found); err != nil {
		return nil, fmt.Errorf("read %v: %w", datacenters, err)
	}
	var folders []types.ManagedObjectReference
	for _, ref := range datacenters {
		i := slices.IndexFunc(found, func(d mo.Datacenter) bool { return d.Self == ref && d.Name != "" && d.VmFolder.Value != "" })
		if i < 0 {
			return nil, fmt.Errorf("read %s: no permission to see its name and VM folder", ref)
		}
		folders = append(folders, found[i].VmFolder)
	}
	return folders, nil
}

// readable reads the VM folders: where a permission does not propagate, an account sees the datacenters but nothing in
// them.
func readable(ctx context.Context, s *vcenter.Session, folders []types.ManagedObjectReference) error {
	var found []mo.Folder
	if err := property.DefaultCollector(s.Vim).Retrieve(ctx, folders, []string{"name"}, &found); err != nil {
		return fmt.Errorf("read VM folders %v: %w", folders, err)
	}
	for _, ref := range folders {
		if !slices.ContainsFunc(found, func(f mo.Folder) bool { return f.Self == ref && f.Name != "" }) {
			return fmt.Errorf("read VM folder %s: no permission to see its name", ref)
		}
	}
	return nil
}

// findByUUID searches the whole vCenter in this byte order, because a VM that was moved out of the configured datacenters
// is not gone.
func findByUUID(ctx context.Context, s *vcenter.Session, u UUID) error {
	res, err := methods.FindByUuid(ctx, s.Vim, &types.FindByUuid{
		This:     *s.Vim.ServiceContent.SearchIndex,
		Uuid:     u.String(),
		VmSearch: true,
	})
	if err != nil {
		return fmt.Errorf("search %s: %w", u, err)
	}
	if res.Returnval != nil {
		return fmt.Errorf("%w: %s", ErrStillThere, res.Returnval.Value)
	}
	return nil
}

// resolve returns an error unless the reference, under which a VM was last seen, no longer exists.
func resolve(ctx context.Context, s *vcenter.Session, ref types.ManagedObjectReference) error {
	var vm mo.VirtualMachine
	err := property.DefaultCollector(s.Vim).RetrieveOne(ctx, ref, []string{"runtime.powerState"}, &vm)
	if vcenter.Gone(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", ref, err)
	}
	return fmt.Errorf("%w: %s resolves though no search finds it", ErrStillThere, ref.Value)
}

// Bounds of departed: UUIDs, and references per UUID. A lost reference costs an extra check, not the confirmation.
const (
	maxDeparted    = 10000
	maxDepartedRef = 8
)

// departed records the references of VMs that left the watch or got another UUID. Before such a VM is reported gone, its
// reference is queried: a VM whose datastore is lost leaves the search index but still exists
// (kubernetes/cloud-provider-vsphere#642).
type departed map[UUID][]types.ManagedObjectReference

func (d departed) add(vm *VM) {
	for u := range d {
		if len(d) < maxDeparted {
			break
		}
		delete(d, u)
	}
	d.keep(vm)
}

// keep records the VM's reference as the last of its UUID.
func (d departed) keep(vm *VM) {
	refs := slices.DeleteFunc(d[vm.UUID], func(r types.ManagedObjectReference) bool { return r == vm.Ref })
	d[vm.UUID] = append(refs[max(0, len(refs)-maxDepartedRef+1):], vm.Ref)
}

// returned removes a VM that has returned.
func (d departed) returned(vm *VM) {
	refs := d[vm.UUID]
	i := slices.Index(refs, vm.Ref)
	switch {
	case i < 0:
	case len(refs) == 1:
		delete(d, vm.UUID)
	default:
		d[vm.UUID] = slices.Delete(refs, i, i+1)
	}
}

// lastSeen returns the references under which VMs with this UUID, in either byte order, are or were last seen.
func (x *index) lastSeen(u UUID) []types.ManagedObjectReference {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var refs []types.ManagedObjectReference
	for _, u := range []UUID{u, u.Swapped()} {
		for _, vm := range x.byUUID[u] {
			refs = append(refs, vm.Ref)
		}
		refs = append(refs, x.departed[u]...)
	}
	return refs
}

// forget removes VMs that are confirmed gone.
func (x *index) forget(u UUID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.departed, u)
	delete(x.departed, u.Swapped())
}

// remember copies the references of another index of the same vCenter, present VMs included, because they may leave before
// this index is in sync. The references of VMs that this index sees are removed later.
func (x *index) remember(other *index) {
	other.mu.RLock()
	defer other.mu.RUnlock()
	for u, refs := range other.departed {
		if len(x.departed) == maxDeparted {
			break
		}
		x.departed[u] = slices.Clone(refs)
	}
	for _, vm := range other.vms {
		if vm.UUID != (UUID{}) {
			x.departed.keep(vm)
		}
	}
}

var (
	errOutOfScope   = errors.New("is outside the configured datacenters")
	errUnidentified = errors.New("vm cannot be identified")
)

// checkOutOfScope returns an error if the index holds a VM with this UUID, in either byte order, outside the configured
// datacenters: lookups do not find it, but it exists.
func (m *member) checkOutOfScope(u UUID) error {
	for _, u := range []UUID{u, u.Swapped()} {
		vms := m.index.uuid(u)
		for _, vm := range vms {
			switch {
			case m.inside(vm):
			case vm.dc == nil:
				return fmt.Errorf("vcenter %q: %v is in no known datacenter", m.client.Name(), vm)
			default:
				err := fmt.Errorf("vcenter %q: %v %w", m.client.Name(), vm, errOutOfScope)
				return oneLine([]error{err, m.hiding()})
			}
		}
	}
	return nil
}

// unidentified returns an error while the vCenter has a VM whose UUID was unknown during the whole watch, because the
// account lacks a permission or the vCenter cannot read the VM's configuration. It may be any VM, so no VM is confirmed
// absent. A VM that becomes unreadable later keeps its UUID and does not count here: resolve confirms its absence.
func (s *source) unidentified() error {
	if vm := s.index.unidentified(); vm != nil {
		return fmt.Errorf("vcenter %q: %w: the vcenter reports no uuid for %s, connection state %q, so it may be the vm that is searched for; "+
			"make it readable or unregister it", s.client.Name(), errUnidentified, vm, vm.Connection)
	}
	return nil
}

// unidentified returns a VM whose UUID is not known, or nil. Of several it always returns the same.
func (x *index) unidentified() *VM {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var found *VM
	for _, vm := range x.unknown {
		if found == nil || vm.Ref.Value < found.Ref.Value {
			found = vm
		}
	}
	return found
}

// Doubt returns why lookups cannot rely on a vCenter at the moment, or nil if they can.
func (inv *Inventory) Doubt(vcenter string) error {
	m := inv.member(vcenter)
	if m == nil {
		return fmt.Errorf("vcenter %q is not part of the inventory", vcenter)
	}
	return m.doubt()
}

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
	if err == nil && !now.Equal(u) {
		return fmt.Errorf("%w: %s (%s), and %w to %s", ErrStillThere, vm.Name, at.VM, ErrUUIDChanged, now)
	}
	return fmt.Errorf("%w: %s (%s) resolves though no search finds it", ErrStillThere, vm.Name, at.VM)
}
