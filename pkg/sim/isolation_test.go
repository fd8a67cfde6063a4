package sim_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/pbm"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vslm"
)

// TestSiblingsShareNothing runs three vCenters and looks at each through every endpoint.
func TestSiblingsShareNothing(t *testing.T) {
	third := zones + `
    - name: vc-3
      datacenters:
        - {name: dceu, hosts: [{name: west-1}], vms: [{name: worker-9}]}
`
	s := start(t, third, nil)
	seen := map[string]string{}
	unique := func(what, value, vcenter string) {
		t.Helper()
		if other, ok := seen[what+value]; ok || value == "" {
			t.Errorf("%s %q of %s is also that of %s", what, value, vcenter, other)
		}
		seen[what+value] = vcenter
	}
	for _, v := range s.VCenters() {
		c := s.login(t, v)
		about := c.ServiceContent.About
		unique("instance UUID", about.InstanceUuid, v.Name())
		if about.InstanceUuid != v.InstanceUUID() || about.Version != "8.0.3" || about.ApiVersion != "8.0.3.0" {
			t.Errorf("%s: about %+v", v.Name(), about)
		}

		options, err := object.NewOptionManager(c.Client, *c.ServiceContent.Setting).Query(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range options {
			if o := o.GetOptionValue(); strings.HasSuffix(o.Key, ".uri") && !strings.Contains(o.Value.(string), v.Addr()) {
				t.Errorf("%s: option %s is %v", v.Name(), o.Key, o.Value)
			}
		}

		m := tags.NewManager(s.rest(t, v))
		categories, err := m.GetCategories(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, category := range categories {
			unique("category", category.ID, v.Name())
		}
		attachments, err := m.GetTags(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, tag := range attachments {
			unique("tag", tag.ID, v.Name())
		}

		index := object.NewSearchIndex(c.Client)
		host, err := index.FindByDnsName(t.Context(), nil, "west-1", false)
		if err != nil || host == nil {
			t.Fatalf("%s: host west-1: %v", v.Name(), err)
		}
		hardware, err := object.NewHostSystem(c.Client, host.Reference()).ResourcePool(t.Context())
		if err != nil || hardware == nil {
			t.Fatalf("%s: %v", v.Name(), err)
		}
		unique("host UUID", hostUUID(t, c, host.Reference()), v.Name())

		policies, err := pbm.NewClient(t.Context(), c.Client)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := policies.ProfileIDByName(t.Context(), "vSAN Default Storage Policy"); err != nil {
			t.Errorf("%s: PBM: %v", v.Name(), err)
		}
		volumes, err := cns.NewClient(t.Context(), c.Client)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := volumes.QueryVolume(t.Context(), new(cnstypes.CnsQueryFilter)); err != nil {
			t.Errorf("%s: CNS: %v", v.Name(), err)
		}
		if _, err := vslm.NewClient(t.Context(), c.Client); err != nil {
			t.Errorf("%s: VSLM: %v", v.Name(), err)
		}
	}

	// What one writes, the other does not read.
	us, eu := s.login(t, s.vcenter(t, "vc-us")), s.login(t, s.vcenter(t, "vc-eu"))
	if err := object.NewOptionManager(us.Client, *us.ServiceContent.Setting).Update(t.Context(), []types.BaseOptionValue{
		&types.OptionValue{Key: "VirtualCenter.InstanceName", Value: "changed"},
	}); err != nil {
		t.Fatal(err)
	}
	left, err := object.NewOptionManager(eu.Client, *eu.ServiceContent.Setting).Query(t.Context(), "VirtualCenter.InstanceName")
	if err != nil {
		t.Fatal(err)
	}
	if got := left[0].GetOptionValue().Value; got != "vc-eu" {
		t.Errorf("option of vc-eu is %v", got)
	}
	if _, err := object.NewAuthorizationManager(us.Client).AddRole(t.Context(), "only-us", []string{"System.View"}); err != nil {
		t.Fatal(err)
	}
	roles, err := object.NewAuthorizationManager(eu.Client).RoleList(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(roles, func(r types.AuthorizationRole) bool { return r.Name == "only-us" }) {
		t.Error("a role of vc-us is in vc-eu")
	}
}
