package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/pbm"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/policy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// readPolicies reads the storage policies, by name.
func readPolicies(ctx context.Context, c *vim25.Client) (map[string]*pbmtypes.PbmCapabilityProfile, error) {
	client, err := pbm.NewClient(ctx, c)
	if err != nil {
		return nil, err
	}
	ids, err := client.QueryProfile(ctx, policy.Storage(), string(pbmtypes.PbmProfileCategoryEnumREQUIREMENT))
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	list, err := client.RetrieveContent(ctx, ids)
	if err != nil {
		return nil, err
	}
	all := make(map[string]*pbmtypes.PbmCapabilityProfile, len(list))
	for _, one := range list {
		if p, ok := one.(*pbmtypes.PbmCapabilityProfile); ok {
			all[p.Name] = p
		}
	}
	return all, nil
}

// storagePolicies plans missing and changed storage policies.
func (p *planner) storagePolicies() {
	for i := range p.want.Policies {
		spec := policy.Spec(&p.want.Policies[i])
		live := p.profiles[spec.Name]
		if live == nil {
			p.policyStep(Create, spec.Name, rules(&p.want.Policies[i]), func(ctx context.Context, c *pbm.Client) error {
				_, err := c.CreateProfile(ctx, spec)
				return err
			})
			continue
		}
		var what []string
		update := pbmtypes.PbmCapabilityProfileUpdateSpec{}
		if spec.Description != "" && spec.Description != live.Description {
			update.Description = spec.Description
			what = append(what, "description")
		}
		if !policy.Same(spec.Constraints, live.Constraints) {
			update.Constraints = spec.Constraints
			what = append(what, rules(&p.want.Policies[i]))
		}
		if len(what) > 0 {
			p.policyStep(Change, spec.Name, strings.Join(what, ", "), func(ctx context.Context, c *pbm.Client) error {
				return c.UpdateProfile(ctx, live.ProfileId, update)
			})
		}
	}
}

// rules describes the rules of a policy.
func rules(p *topology.Policy) string {
	var all []string
	for _, tag := range p.Tags {
		all = append(all, tag.Category+"/"+tag.Name)
	}
	var kinds []string
	for _, kind := range p.Types {
		kinds = append(kinds, string(kind))
	}
	if len(kinds) > 0 {
		all = append(all, strings.Join(kinds, " or "))
	}
	return strings.Join(all, " and ")
}

func (p *planner) policyStep(op Op, name, what string, run func(context.Context, *pbm.Client) error) {
	p.step(op, KindPolicy, name, what, func(ctx context.Context, c *vim25.Client) error {
		client, err := pbm.NewClient(ctx, c)
		if err != nil {
			return err
		}
		return run(ctx, client)
	})
}

// removePolicies plans the removal of storage policies that only the previous topology had or, with Prune, of all that the
// topology does not name. A vCenter refuses to remove one in use, and the step fails.
func (p *planner) removePolicies() {
	var had []string
	for _, t := range p.opts.before() {
		if v := vcenterOf(t, p.want.Name); v != nil {
			for i := range v.Policies {
				had = append(had, v.Policies[i].Name)
			}
		}
	}
	for _, name := range slices.Sorted(mapKeys(p.profiles)) {
		live := p.profiles[name]
		wanted := slices.ContainsFunc(p.want.Policies, func(w topology.Policy) bool { return w.Name == name })
		if wanted || policy.BuiltIn(live) || !p.opts.Prune && !slices.Contains(had, name) {
			continue
		}
		p.policyStep(Remove, name, "", func(ctx context.Context, c *pbm.Client) error {
			outcomes, err := c.DeleteProfile(ctx, []pbmtypes.PbmProfileId{live.ProfileId})
			for _, o := range outcomes {
				if err == nil && o.Fault != nil {
					err = fmt.Errorf("%T: %s", o.Fault.Fault, o.Fault.LocalizedMessage)
				}
			}
			return err
		})
	}
}
