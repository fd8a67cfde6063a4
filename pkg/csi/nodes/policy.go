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

// policyAge is how long the id of a storage policy is cached. Its compatible datastores are queried every time.
const policyAge = time.Minute

// errNoPolicy reports that a vCenter has no storage policy with a name.
var errNoPolicy = errors.New("no storage policy with that name")

// policies caches the storage policies of one vCenter. The zero value is ready to use.
type policies struct {
	mu      sync.Mutex
	session *vcenter.Session // the session of client
	client  *pbm.Client
	ids     map[string]policyID
}

type policyID struct {
	id   string
	read time.Time
}

// clientFor returns a client of the policy service with the session.
func (p *policies) clientFor(ctx context.Context, s *vcenter.Session) (*pbm.Client, error) {
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

// policy returns the id of a storage policy. Error: errNoPolicy.
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
		client, err := p.clientFor(ctx, s)
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

// compatible returns the datastores that the policy accepts.
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
		client, err := m.policies.clientFor(ctx, s)
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

// stores returns the datastores of a vCenter by name.
func (p *inventory) stores() []*datastore {
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

func (p *inventory) hostName(r ref) string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.name(r)
}

func (p *inventory) hostDisconnected(r ref) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.entities[r].disconnected
}

// unreachableFrom returns why one of the nodes, all in the datastore's vCenter, would not reach a volume on the datastore, or "". A
// disconnected host that mounts it counts as reaching it: its nodes run nothing, and it will be accessible again when they do.
func (d *datastore) unreachableFrom(nodes []*placedNode) string {
	for _, node := range nodes {
		m, ok := d.mounts[node.vm.host]
		switch {
		case node.vm.host.Value == "":
			return fmt.Sprintf("the host of node %s is not known", node.name)
		case !ok:
			return "not mounted on " + node.hostText()
		case node.in.inventory.hostDisconnected(node.vm.host):
		case !m.accessible:
			why := ""
			if m.reason != "" {
				why = " (" + m.reason + ")"
			}
			return "not accessible from " + node.hostText() + why
		case m.readOnly:
			return "mounted read-only on " + node.hostText()
		}
	}
	return ""
}

// hostText returns the host and its node for messages.
func (n *placedNode) hostText() string {
	host := "host " + n.in.inventory.hostName(n.vm.host)
	if n.name == "" {
		return host + ", which has no node now and may get one"
	}
	return host + " of node " + n.name
}

// mountedByAny reports whether the host of any node mounts the datastore.
func (d *datastore) mountedByAny(nodes []*placedNode) bool {
	return slices.ContainsFunc(nodes, func(node *placedNode) bool {
		_, ok := d.mounts[node.vm.host]
		return ok
	})
}

// unusable returns why a datastore cannot have a volume of that size, or "", and whether it lacks only space.
func (d *datastore) unusable(bytes int64) (why string, space bool) {
	switch {
	case !d.accessible:
		return "not accessible", false
	case d.maintenance != "" && d.maintenance != "normal":
		return "in maintenance mode (" + d.maintenance + ")", false
	case d.suspended:
		return "suspended for new volumes", false
	case d.free < bytes:
		return fmt.Sprintf("%s free, %s required", size(d.free), size(bytes)), true
	}
	return "", false
}

func (d *datastore) export(m *member) volume.Datastore {
	return volume.Datastore{
		VCenter: m.name(), Ref: d.ref.Value, Name: d.name, URL: d.url, Capacity: d.capacity, Free: d.free,
	}
}

// sameURL compares datastore URLs ignoring case and a slash at the end.
func sameURL(a, b string) bool {
	return strings.EqualFold(strings.TrimRight(a, "/"), strings.TrimRight(b, "/"))
}

func size(bytes int64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
}
