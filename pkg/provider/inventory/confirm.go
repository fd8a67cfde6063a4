package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

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
