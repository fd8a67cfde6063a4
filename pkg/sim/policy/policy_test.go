package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	pbm "github.com/vmware/govmomi/pbm/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/policy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

func tag(name string) topology.Tag { return topology.Tag{Category: "tier", Name: name} }

func TestCheck(t *testing.T) {
	gold, both := []topology.Tag{tag("gold")}, []topology.Tag{tag("gold"), tag("safe")}
	for _, tc := range []struct {
		name  string
		rules topology.Policy
		d     policy.Datastore
		unmet []string
	}{
		{"tag", topology.Policy{Tags: gold}, policy.Datastore{Tags: both}, nil},
		{"no tag", topology.Policy{Tags: gold}, policy.Datastore{}, []string{"tier"}},
		{"other tag", topology.Policy{Tags: gold}, policy.Datastore{Tags: []topology.Tag{tag("safe")}}, []string{"tier"}},
		{"tag of another category", topology.Policy{Tags: gold}, policy.Datastore{Tags: []topology.Tag{{Category: "x", Name: "gold"}}}, []string{"tier"}},
		{"all tags", topology.Policy{Tags: both}, policy.Datastore{Tags: both}, nil},
		{"one of two tags", topology.Policy{Tags: both}, policy.Datastore{Tags: gold}, []string{"tier"}},
		{"type", topology.Policy{Types: []topology.DatastoreType{topology.VSAN, topology.NFS41}}, policy.Datastore{Type: "NFS41"}, nil},
		{"other type", topology.Policy{Types: []topology.DatastoreType{topology.VSAN}}, policy.Datastore{Type: "VMFS"}, []string{policy.TypeID}},
		{"tag and type", topology.Policy{Tags: gold, Types: []topology.DatastoreType{topology.VMFS}}, policy.Datastore{Type: "VMFS", Tags: gold}, nil},
		{"tag without type", topology.Policy{Tags: gold, Types: []topology.DatastoreType{topology.VMFS}}, policy.Datastore{Type: "vsan", Tags: gold}, []string{policy.TypeID}},
		{"neither", topology.Policy{Tags: gold, Types: []topology.DatastoreType{topology.VMFS}}, policy.Datastore{Type: "vsan"}, []string{"tier", policy.TypeID}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var unmet []string
			for _, u := range policy.CheckConstraints(policy.Spec(&tc.rules).Constraints, tc.d) {
				unmet = append(unmet, u.Capability.Id)
			}
			if diff := cmp.Diff(tc.unmet, unmet); diff != "" {
				t.Errorf("unmet (-want +got):\n%s", diff)
			}
		})
	}
}

// What clients write: one rule with several tags, of which one is enough; tags that a datastore must not have; rule sets
// to choose from; rules of vSAN and of hosts.
func TestCheckOfOthers(t *testing.T) {
	rule := func(namespace, id, operator string, value any) pbm.PbmCapabilityInstance {
		return pbm.PbmCapabilityInstance{
			Id: pbm.PbmCapabilityMetadataUniqueId{Namespace: namespace, Id: id},
			Constraint: []pbm.PbmCapabilityConstraintInstance{{
				PropertyInstance: []pbm.PbmCapabilityPropertyInstance{{Id: id, Operator: operator, Value: value}},
			}},
		}
	}
	sets := func(all ...[]pbm.PbmCapabilityInstance) pbm.BasePbmCapabilityConstraints {
		c := &pbm.PbmCapabilitySubProfileConstraints{}
		for _, rules := range all {
			c.SubProfiles = append(c.SubProfiles, pbm.PbmCapabilitySubProfile{Capability: rules})
		}
		return c
	}
	any2 := pbm.PbmCapabilityDiscreteSet{}
	any2.Values = append(any2.Values, "gold", "silver")
	type rules = []pbm.PbmCapabilityInstance
	gold, iron := policy.Datastore{Type: "VMFS", Tags: []topology.Tag{tag("gold")}}, policy.Datastore{Type: "vsan", Tags: []topology.Tag{tag("iron")}}
	for _, tc := range []struct {
		name       string
		c          pbm.BasePbmCapabilityConstraints
		gold, iron bool
	}{
		{"one of several", sets(rules{rule(policy.TagNamespace, "tier", "", any2)}), true, false},
		{"none of several", sets(rules{rule(policy.TagNamespace, "tier", "NOT", any2)}), false, true},
		{"a text", sets(rules{rule(policy.TagNamespace, "tier", "", "gold")}), true, false},
		{"vSAN", sets(rules{rule("VSAN", "hostFailuresToTolerate", "", int32(1))}), false, true},
		{"either set", sets(rules{rule("VSAN", "stripeWidth", "", int32(1))}, rules{rule(policy.TagNamespace, "tier", "", "gold")}), true, true},
		{"of hosts", sets(rules{rule("com.vmware.storageprofile.dataservice", "x", "", "y")}), true, true},
		{"not known", sets(rules{rule("com.example", "x", "", "y")}), false, false},
		{"without a constraint", sets(rules{{Id: pbm.PbmCapabilityMetadataUniqueId{Namespace: policy.TagNamespace, Id: "tier"}}}), false, false},
		{"an empty set of rules", sets(rules{}), true, true},
		{"none", &pbm.PbmCapabilityConstraints{}, true, true},
		{"nil", nil, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := len(policy.CheckConstraints(tc.c, gold)) == 0; got != tc.gold {
				t.Errorf("gold meets it: %v", got)
			}
			if got := len(policy.CheckConstraints(tc.c, iron)) == 0; got != tc.iron {
				t.Errorf("iron meets it: %v", got)
			}
		})
	}
	vvol := &pbm.PbmCapabilityProfile{SystemCreatedProfileType: string(pbm.PbmSystemCreatedProfileTypeVVolDefaultProfile)}
	if len(policy.Check(vvol, gold)) == 0 || len(policy.Check(vvol, policy.Datastore{Type: "VVOL"})) > 0 {
		t.Error("the default profile of vVols is for them alone")
	}
}

func TestSame(t *testing.T) {
	spec := func(p topology.Policy) pbm.BasePbmCapabilityConstraints { return policy.Spec(&p).Constraints }
	a := topology.Policy{Tags: []topology.Tag{tag("a"), tag("b")}, Types: []topology.DatastoreType{topology.VMFS, topology.NFS}}
	b := topology.Policy{Tags: []topology.Tag{tag("b"), tag("a")}, Types: []topology.DatastoreType{topology.NFS, topology.VMFS}}
	c := topology.Policy{Tags: []topology.Tag{tag("b"), tag("a")}}
	if !policy.Same(spec(a), spec(b)) || policy.Same(spec(a), spec(c)) || !policy.Same(nil, &pbm.PbmCapabilityConstraints{}) {
		t.Error("Same is wrong")
	}
}
