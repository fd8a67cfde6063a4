package nodes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vmware/govmomi/pbm"
	pbmtypes "github.com/vmware/govmomi/pbm/types"

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
