package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/pbm"
	pbmtypes "github.com/vmware/govmomi/pbm/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// policyAge is how long the id of a storage policy is believed. Which datastores it accepts is asked every time.
const policyAge = time.Minute

// errNoPolicy says that a vCenter has no storage policy of a name.
var errNoPolicy = errors.New("no storage policy of that name")

// policies are the storage policies of one vCenter. The zero value is ready to use.
type policies struct {
	mu      sync.Mutex
	session *vcenter.Session // whose cookie the client has
	client  *pbm.Client
	ids     map[string]policyID
}

type policyID struct {
	id   string
	read time.Time
}

// on returns a client for the policy service that uses the session.
func (p *policies) on(ctx context.Context, s *vcenter.Session) (*pbm.Client, error) {
	p.mu.Lock()
	client, session := p.client, p.session
	p.mu.Unlock()
	if client != nil && session == s {
		return client, nil
	}
	client, err := pbm.NewClient(ctx, s.Vim)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.client, p.session = client, s
	return client, nil
}

// policy resolves the name of a storage policy. Errors: errNoPolicy.
func (m *member) policy(ctx context.Context, name string) (id string, err error) {
	p := &m.policies
	p.mu.Lock()
	known, ok := p.ids[name]
	p.mu.Unlock()
	if ok && time.Since(known.read) < policyAge {
		return known.id, nil
	}
	var profiles []pbmtypes.BasePbmProfile
	err = m.client.Do(ctx, func(ctx context.Context, s *vcenter.Session) error {
		client, err := p.on(ctx, s)
		if err != nil {
			return err
		}
		ids, err := client.QueryProfile(ctx,
			pbmtypes.PbmProfileResourceType{ResourceType: string(pbmtypes.PbmProfileResourceTypeEnumSTORAGE)},
			string(pbmtypes.PbmProfileCategoryEnumREQUIREMENT))
		if err != nil || len(ids) == 0 {
			return err
		}
		profiles, err = client.RetrieveContent(ctx, ids)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("storage policy %q: %w", name, err)
	}
	fresh := map[string]policyID{}
	for _, profile := range profiles {
		of := profile.GetPbmProfile()
		fresh[of.Name] = policyID{of.ProfileId.UniqueId, time.Now()}
	}
	p.mu.Lock()
	p.ids = fresh
	p.mu.Unlock()
	if found, ok := fresh[name]; ok {
		return found.id, nil
	}
	return "", fmt.Errorf("vcenter %q: storage policy %q: %w", m.name(), name, errNoPolicy)
}

// compatible returns those of the datastores that the policy accepts.
func (m *member) compatible(ctx context.Context, policy string, stores []*datastore) (map[ref]bool, error) {
	accepted := map[ref]bool{}
	if len(stores) == 0 {
		return accepted, nil
	}
	hubs := make([]pbmtypes.PbmPlacementHub, 0, len(stores))
	for _, d := range stores {
		hubs = append(hubs, pbmtypes.PbmPlacementHub{HubType: d.ref.Type, HubId: d.ref.Value})
	}
	err := m.client.Do(ctx, func(ctx context.Context, s *vcenter.Session) error {
		client, err := m.policies.on(ctx, s)
		if err != nil {
			return err
		}
		results, err := client.CheckRequirements(ctx, hubs, nil, []pbmtypes.BasePbmPlacementRequirement{
			&pbmtypes.PbmPlacementCapabilityProfileRequirement{ProfileId: pbmtypes.PbmProfileId{UniqueId: policy}},
		})
		for _, hub := range results.CompatibleDatastores() {
			accepted[ref{Type: hub.HubType, Value: hub.HubId}] = true
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("storage policy %s: %w", policy, err)
	}
	return accepted, nil
}

// stores returns the datastores of a vCenter, by name.
func (p *picture) stores() []*datastore {
	p.mu.RLock()
	defer p.mu.RUnlock()
	all := make([]*datastore, 0, len(p.datastores))
	for _, d := range p.datastores {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *datastore) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.ref.Value, b.ref.Value))
	})
	return all
}

// host returns a host's name.
func (p *picture) host(r ref) string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.name(r)
}

// away tells whether the vCenter has lost a host.
func (p *picture) away(r ref) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.entities[r].away
}

// unreached returns why a volume on the datastore would be out of reach of one of the nodes, "" when it would not. All
// nodes are of the datastore's vCenter. A host that the vCenter has lost takes the datastore from nobody, as long as it
// mounts it: its nodes run nothing, and it is there again when they do.
func (d *datastore) unreached(nodes []*located) string {
	for _, node := range nodes {
		m, ok := d.mounts[node.vm.host]
		switch {
		case node.vm.host.Value == "":
			return fmt.Sprintf("host of node %s is not known", node.name)
		case !ok:
			return fmt.Sprintf("not mounted on host %s of node %s", node.in.picture.host(node.vm.host), node.name)
		case node.in.picture.away(node.vm.host):
		case !m.accessible:
			why := ""
			if m.reason != "" {
				why = " (" + m.reason + ")"
			}
			return fmt.Sprintf("not accessible from host %s of node %s%s", node.in.picture.host(node.vm.host), node.name, why)
		case m.readOnly:
			return fmt.Sprintf("mounted read-only on host %s of node %s", node.in.picture.host(node.vm.host), node.name)
		}
	}
	return ""
}

// near reports whether the host of any of the nodes mounts the datastore.
func (d *datastore) near(nodes []*located) bool {
	return slices.ContainsFunc(nodes, func(node *located) bool {
		_, ok := d.mounts[node.vm.host]
		return ok
	})
}

// unfit returns why a datastore takes no volume of that size at all, "" when it may, and whether it is for lack of space
// alone.
func (d *datastore) unfit(bytes int64) (why string, space bool) {
	switch {
	case !d.accessible:
		return "not accessible", false
	case d.maintenance != "" && d.maintenance != "normal":
		return "in maintenance mode (" + d.maintenance + ")", false
	case d.suspended:
		return "suspended for new volumes", false
	case d.free < bytes:
		return fmt.Sprintf("%s free, %s asked", size(d.free), size(bytes)), true
	}
	return "", false
}

func (d *datastore) export(m *member) volume.Datastore {
	return volume.Datastore{
		VCenter: m.name(), Ref: d.ref.Value, Name: d.name, URL: d.url, Capacity: d.capacity, Free: d.free,
	}
}

// sameURL compares URLs of datastores as people write them.
func sameURL(a, b string) bool {
	return strings.EqualFold(strings.TrimRight(a, "/"), strings.TrimRight(b, "/"))
}

// size is a number of bytes as people read it.
func size(bytes int64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
}
