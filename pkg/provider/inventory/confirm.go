package inventory

import (
	"context"
	"errors"
	"fmt"
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
// is a doubt, and nothing may be concluded from it. It waits no longer than one call's timeout, and not at all when a
// vCenter is already known to be out of reach.
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
	scope, err := m.scope()
	if err != nil {
		return err
	}
	last := m.index.lastSeen(u)
	return m.client.Do(ctx, func(ctx context.Context, s *vcenter.Session) error {
		for _, dc := range scope {
			if err := findByUUID(ctx, s, dc, u); err != nil {
				return err
			}
		}
		for _, ref := range last {
			if err := resolve(ctx, s, ref); err != nil {
				return err
			}
		}
		return nil
	})
}

// findByUUID asks the search index of one datacenter. It first reads the datacenter itself: to an account that has lost
// its permissions the search answers "none" (kubernetes-sigs/vsphere-csi-driver#2475), the read answers with a fault.
func findByUUID(ctx context.Context, s *vcenter.Session, dc types.ManagedObjectReference, u UUID) error {
	var d mo.Datacenter
	if err := property.DefaultCollector(s.Vim).RetrieveOne(ctx, dc, []string{"name"}, &d); err != nil {
		return fmt.Errorf("read %s: %w", dc, err)
	}
	if d.Name == "" {
		return fmt.Errorf("read %s: no permission to see its name", dc)
	}
	for _, u := range []UUID{u, u.Swapped()} {
		res, err := methods.FindByUuid(ctx, s.Vim, &types.FindByUuid{
			This:       *s.Vim.ServiceContent.SearchIndex,
			Datacenter: &dc,
			Uuid:       u.String(),
			VmSearch:   true,
		})
		if err != nil {
			return fmt.Errorf("search datacenter %q: %w", d.Name, err)
		}
		if res.Returnval != nil {
			return fmt.Errorf("%w: %s in datacenter %q", ErrStillThere, res.Returnval.Value, d.Name)
		}
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
