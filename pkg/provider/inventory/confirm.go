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

// ErrStillThere says that a vCenter, asked directly, has the VM after all.
var ErrStillThere = errors.New("vm is still there")

var errNoUUID = errors.New("it is no uuid")

// ConfirmAbsent asks every vCenter directly whether it has a VM of this BIOS UUID, in either byte order, and returns
// nil only when all of them are in sync, reachable, and say no. [ErrStillThere] means that one has it; any other error
// is a doubt, and nothing may be concluded from it: a VM of this UUID outside the configured datacenters, for example,
// or a VM whose UUID the vCenter does not tell. Each vCenter is asked a handful of questions one after the other, each
// with a call timeout of its own; the first that is not answered ends it. It does not wait at all when a vCenter is
// already known to be out of reach.
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
	// They are not asked at one moment: a VM that moves from one vCenter to another may come to the one after that was
	// asked, and leave the other before. What has come by now is found by asking again.
	if len(inv.members) > 1 {
		if err := inv.each(func(m *member) error { return m.ask(ctx, searches(u)) }); err != nil {
			return err
		}
	}
	// What went wrong while the questions were under way counts as well.
	return inv.doubt()
}

// each runs f for all vCenters at once and returns what is wrong with any.
func (inv *Inventory) each(f func(*member) error) error {
	errs := make([]error, len(inv.members))
	var wg sync.WaitGroup
	for i, m := range inv.members {
		wg.Go(func() { errs[i] = f(m) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// question is one call to a vCenter; an answer that speaks against the absence of a VM is an error.
type question = func(context.Context, *vcenter.Session) error

// confirmAbsent asks one vCenter.
func (m *member) confirmAbsent(ctx context.Context, u UUID) error {
	if err := m.outside(u); err != nil {
		return err
	}
	scope, err := m.scope()
	if err != nil {
		return err
	}
	var folders []types.ManagedObjectReference
	questions := []question{
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
	if err := m.ask(ctx, questions); err != nil {
		return err
	}
	return m.unidentified()
}

// ask ends with the first error. Each question is a Do of its own, so that a vCenter that is slow, and answers, is not
// taken for one that does not.
func (m *member) ask(ctx context.Context, questions []question) error {
	for _, q := range questions {
		if err := m.client.Do(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// searches looks for a UUID in both byte orders.
func searches(u UUID) []question {
	return []question{
		func(ctx context.Context, s *vcenter.Session) error { return findByUUID(ctx, s, u) },
		func(ctx context.Context, s *vcenter.Session) error { return findByUUID(ctx, s, u.Swapped()) },
	}
}

// vmFolders reads the datacenters themselves, and returns their VM folders: to an account that has lost its permissions a
// search answers "none" (kubernetes-sigs/vsphere-csi-driver#2475), the read answers with a fault.
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

// readable reads VM folders: an account may well see datacenters and nothing in them, where its permission does not
// propagate.
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

// findByUUID asks the search index of the whole vCenter, in this byte order: a VM that was moved out of the configured
// datacenters is not gone.
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

// resolve asks for a VM by the reference it was last seen under.
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
