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

// ConfirmAbsent asks every vCenter directly whether it has a VM of this BIOS UUID, in either byte order, and returns
// nil only when all of them are in sync, reachable, and say no. [ErrStillThere] means that one has it; any other error
// is a doubt, and nothing may be concluded from it: a VM of this UUID outside the configured datacenters, for example,
// or a VM whose UUID the vCenter does not tell. Each vCenter is asked a handful of questions one after the other, each
// with a call timeout of its own; the first that is not answered ends it. It does not wait at all when a vCenter is
// already known to be out of reach.
func (inv *Inventory) ConfirmAbsent(ctx context.Context, u UUID) error {
	if err := inv.doubt(); err != nil {
		return fmt.Errorf("cannot confirm that vm %s is gone: %w", u, err)
	}
	errs := make([]error, len(inv.members))
	var wg sync.WaitGroup
	for i, m := range inv.members {
		wg.Go(func() { errs[i] = m.confirmAbsent(ctx, u) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cannot confirm that vm %s is gone: %w", u, err)
	}
	// What went wrong while the question was under way counts as well.
	if err := inv.doubt(); err != nil {
		return fmt.Errorf("cannot confirm that vm %s is gone: %w", u, err)
	}
	for _, m := range inv.members {
		m.index.forget(u)
	}
	return nil
}

// confirmAbsent asks one vCenter.
func (m *member) confirmAbsent(ctx context.Context, u UUID) error {
	if err := m.outside(u); err != nil {
		return err
	}
	scope, err := m.scope()
	if err != nil {
		return err
	}
	last := m.index.lastSeen(u)
	questions := []func(context.Context, *vcenter.Session) error{
		func(ctx context.Context, s *vcenter.Session) error { return readable(ctx, s, scope) },
		func(ctx context.Context, s *vcenter.Session) error { return findByUUID(ctx, s, u) },
		func(ctx context.Context, s *vcenter.Session) error { return findByUUID(ctx, s, u.Swapped()) },
	}
	for _, ref := range last {
		questions = append(questions, func(ctx context.Context, s *vcenter.Session) error { return resolve(ctx, s, ref) })
	}
	for _, ask := range questions {
		// One Do for each, so that a vCenter that is slow, and answers, is not taken for one that does not.
		if err := m.client.Do(ctx, ask); err != nil {
			return err
		}
	}
	return m.unidentified()
}

// readable reads the datacenters themselves: to an account that has lost its permissions a search answers "none"
// (kubernetes-sigs/vsphere-csi-driver#2475), the read answers with a fault.
func readable(ctx context.Context, s *vcenter.Session, datacenters []types.ManagedObjectReference) error {
	var found []mo.Datacenter
	if err := property.DefaultCollector(s.Vim).Retrieve(ctx, datacenters, []string{"name"}, &found); err != nil {
		return fmt.Errorf("read %v: %w", datacenters, err)
	}
	for _, ref := range datacenters {
		if !slices.ContainsFunc(found, func(d mo.Datacenter) bool { return d.Self == ref && d.Name != "" }) {
			return fmt.Errorf("read %s: no permission to see its name", ref)
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
