package nodes

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

// searchAll searches every vCenter directly and concurrently for a VM. A nil VM without an error means that none exists: every
// vCenter is in sync, reachable, readable, and has no such VM. It is for VMs that no inventory has, as ConfirmAbsent of
// pkg/provider/inventory.
func (n *Nodes) searchAll(ctx context.Context, u match.UUID) (*member, *vm, error) {
	members := *n.members.Load()
	found, errs := make([]*vm, len(members)), make([]error, len(members))
	var wg sync.WaitGroup
	for i, m := range members {
		wg.Go(func() { found[i], errs[i] = m.searchVM(ctx, u) })
	}
	wg.Wait()
	for i, v := range found {
		if v != nil {
			return members[i], v, nil
		}
	}
	// A VM may have appeared in an inventory, or moved between vCenters, during the search.
	if m, v, err := n.lookup(u); !errors.Is(err, errNoVM) {
		return m, v, err
	}
	return nil, nil, errors.Join(errs...)
}

// searchAll searches one vCenter; nil without an error if it has no such VM.
func (m *member) searchVM(ctx context.Context, u match.UUID) (*vm, error) {
	r, err := m.search(ctx, u)
	if err != nil {
		return nil, err
	}
	if r.Value != "" {
		if len(m.datacenters) > 0 {
			return nil, fmt.Errorf("vcenter %q: %s is not in the configured datacenters, or not yet", m.name(), r.Value)
		}
		return &vm{ref: r, name: r.Value, uuid: u}, nil
	}
	return nil, m.absent(ctx, u)
}

// search queries the search index of the whole vCenter in both byte orders.
func (m *member) search(ctx context.Context, u match.UUID) (found ref, err error) {
	for _, u := range [...]match.UUID{u, u.Swapped()} {
		err := m.client.Do(ctx, func(ctx context.Context, s *vcenter.Session) error {
			res, err := methods.FindByUuid(ctx, s.Vim, &types.FindByUuid{
				This: *s.Vim.ServiceContent.SearchIndex, Uuid: u.String(), VmSearch: true,
			})
			if err == nil && res.Returnval != nil {
				found = *res.Returnval
			}
			return err
		})
		if err != nil || found.Value != "" {
			return found, err
		}
	}
	return ref{}, nil
}

// absent returns an error if a VM that no search finds may exist.
func (m *member) absent(ctx context.Context, u match.UUID) error {
	if err := m.doubt(); err != nil {
		return err
	}
	scope, missing := m.inventory.scope(m.datacenters)
	switch {
	case len(missing) > 0:
		return fmt.Errorf("vcenter %q: datacenter %q not found", m.name(), strings.Join(missing, ", "))
	case len(scope) == 0:
		return fmt.Errorf("vcenter %q: no datacenter is visible; check the account's permissions", m.name())
	}
	if err := m.readable(ctx, scope); err != nil {
		return err
	}
	if err := m.resolve(ctx, u); err != nil {
		return err
	}
	if v := m.inventory.unidentified(); v != nil {
		return fmt.Errorf("vcenter %q: the vcenter reports no uuid for vm %s, so it may be the vm that is searched for", m.name(), v.name)
	}
	return m.doubt() // failures during the queries count too
}

// readable reads the datacenters. For an account that has lost its permissions, a search returns an empty result
// (kubernetes-sigs/vsphere-csi-driver#2475), but this read does not.
func (m *member) readable(ctx context.Context, datacenters []ref) error {
	var read []mo.Datacenter
	err := m.client.Do(ctx, func(ctx context.Context, s *vcenter.Session) error {
		return property.DefaultCollector(s.Vim).Retrieve(ctx, datacenters, []string{"name"}, &read)
	})
	if err != nil {
		return err
	}
	for _, dc := range datacenters {
		if !slices.ContainsFunc(read, func(d mo.Datacenter) bool { return d.Self == dc && d.Name != "" }) {
			return fmt.Errorf("vcenter %q: read %s: no permission to see its name", m.name(), dc.Value)
		}
	}
	return nil
}

// resolve queries the reference under which the VM was last seen: a VM whose datastore is lost leaves the search index but
// still exists (kubernetes/cloud-provider-vsphere#642).
func (m *member) resolve(ctx context.Context, u match.UUID) error {
	m.inventory.mu.RLock()
	last := []ref{m.inventory.departed[u], m.inventory.departed[u.Swapped()]}
	m.inventory.mu.RUnlock()
	for _, r := range last {
		if r.Value == "" {
			continue
		}
		err := m.client.Do(ctx, func(ctx context.Context, s *vcenter.Session) error {
			var v mo.VirtualMachine
			return property.DefaultCollector(s.Vim).RetrieveOne(ctx, r, []string{"runtime.powerState"}, &v)
		})
		switch {
		case vcenter.Gone(err):
		case err != nil:
			return err
		default:
			return fmt.Errorf("vcenter %q: %s resolves though no search finds it", m.name(), r.Value)
		}
	}
	return nil
}
