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

// ask looks for a VM in every vCenter directly, in all at once. Without an error, and with a nil VM, there is none: every
// vCenter is in sync, reachable, readable, and says so. It is for what no picture has, as pkg/provider/inventory's
// ConfirmAbsent is.
func (n *Nodes) ask(ctx context.Context, u match.UUID) (*member, *vm, error) {
	members := *n.members.Load()
	found, errs := make([]*vm, len(members)), make([]error, len(members))
	var wg sync.WaitGroup
	for i, m := range members {
		wg.Go(func() { found[i], errs[i] = m.ask(ctx, u) })
	}
	wg.Wait()
	for i, v := range found {
		if v != nil {
			return members[i], v, nil
		}
	}
	// A VM may have come to a picture, or moved between vCenters, while they were asked.
	if m, v, err := n.lookup(u); !errors.Is(err, errNoVM) {
		return m, v, err
	}
	return nil, nil, errors.Join(errs...)
}

// ask asks one vCenter; nil without an error when it has none.
func (m *member) ask(ctx context.Context, u match.UUID) (*vm, error) {
	r, err := m.search(ctx, u)
	if err != nil {
		return nil, err
	}
	if r.Value != "" {
		if len(m.datacenters) > 0 {
			return nil, fmt.Errorf("vcenter %q: %s is not, or not yet, in the configured datacenters", m.name(), r.Value)
		}
		return &vm{ref: r, name: r.Value, uuid: u}, nil
	}
	return nil, m.absent(ctx, u)
}

// search asks the search index of the whole vCenter in both byte orders.
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

// absent returns what speaks against the absence of a VM that no search finds.
func (m *member) absent(ctx context.Context, u match.UUID) error {
	if err := m.doubt(); err != nil {
		return err
	}
	scope, missing := m.picture.scope(m.datacenters)
	switch {
	case len(missing) > 0:
		return fmt.Errorf("vcenter %q: datacenter %q not found", m.name(), strings.Join(missing, ", "))
	case len(scope) == 0:
		return fmt.Errorf("vcenter %q: no datacenter to be seen", m.name())
	}
	if err := m.readable(ctx, scope); err != nil {
		return err
	}
	if err := m.resolve(ctx, u); err != nil {
		return err
	}
	if v := m.picture.unidentified(); v != nil {
		return fmt.Errorf("vcenter %q: vm %s tells no uuid, it may be any", m.name(), v.name)
	}
	return m.doubt() // what went wrong meanwhile counts as well
}

// readable reads the datacenters: to an account that has lost its permissions a search answers "none"
// (kubernetes-sigs/vsphere-csi-driver#2475), the read does not.
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

// resolve asks for the VM by the reference under which it was last seen: one whose datastore is lost leaves the search
// index and still exists (kubernetes/cloud-provider-vsphere#642).
func (m *member) resolve(ctx context.Context, u match.UUID) error {
	m.picture.mu.RLock()
	last := []ref{m.picture.departed[u], m.picture.departed[u.Swapped()]}
	m.picture.mu.RUnlock()
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
