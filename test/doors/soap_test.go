package doors

import (
	"slices"
	"time"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/eam"
	eamobject "github.com/vmware/govmomi/eam/object"
	eamtypes "github.com/vmware/govmomi/eam/types"
	"github.com/vmware/govmomi/lookup"
	lookuptypes "github.com/vmware/govmomi/lookup/types"
	"github.com/vmware/govmomi/pbm"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/ssoadmin"
	ssotypes "github.com/vmware/govmomi/ssoadmin/types"
	"github.com/vmware/govmomi/sts"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vsan"
	vsantypes "github.com/vmware/govmomi/vsan/types"
	"github.com/vmware/govmomi/vslm"
)

// api is an API with the calls that are compared.
type api struct {
	name  string
	calls func(s *side)
	// corrected are the named differences from stock vcsim: patterns of "METHOD: DIFFERENCE", and the reason.
	corrected map[string]string
}

// apis are all.
var apis = slices.Concat(ofVIM, ofSOAP, ofREST)

var ofSOAP = []api{
	{"lookup service", func(s *side) {
		c, err := lookup.NewClient(s.ctx, s.vim)
		s.must(err)
		s.tap(c.Client)
		for _, filter := range []*lookuptypes.LookupServiceRegistrationFilter{
			{},
			{ServiceType: &lookuptypes.LookupServiceRegistrationServiceType{Product: "com.vmware.cis", Type: "sso:sts"}},
			{ServiceType: &lookuptypes.LookupServiceRegistrationServiceType{Product: "none", Type: "none"}},
		} {
			_, err = c.List(s.ctx, filter)
			s.must(err)
		}
		_, err = c.SiteID(s.ctx)
		s.must(err)
	}, nil},
	{"tokens", func(s *side) {
		c, err := sts.NewClient(s.ctx, s.vim)
		s.must(err)
		s.tap(c.Client)
		token, err := c.Issue(s.ctx, sts.TokenRequest{Userinfo: s.user})
		s.must(err)
		_, err = c.Renew(s.ctx, sts.TokenRequest{Token: token.Token, Userinfo: s.user})
		s.must(err)
	}, map[string]string{
		"Assertion/(Signature|AttributeStatement|AuthnStatement|Conditions/ProxyRestriction)": "a token is recognized by its ID, and has no signature: docs/simulation.md",
	}},
	{"users", func(s *side) {
		tokens, err := sts.NewClient(s.ctx, s.vim)
		s.must(err)
		token, err := tokens.Issue(s.ctx, sts.TokenRequest{Userinfo: s.user})
		s.must(err)
		c, err := ssoadmin.NewClient(s.ctx, s.vim)
		s.must(err)
		s.tap(c.Client)
		s.must(c.Login(c.WithHeader(s.ctx, soap.Header{Security: token})))
		_, err = c.IdentitySources(s.ctx)
		s.must(err)
		s.must(c.CreatePersonUser(s.ctx, "eve", ssotypes.AdminPersonDetails{Description: "someone"}, "Passw0rd!"))
		s.fails(c.CreatePersonUser(s.ctx, "eve", ssotypes.AdminPersonDetails{}, "Passw0rd!"))
		s.must(c.UpdatePersonUser(s.ctx, "eve", ssotypes.AdminPersonDetails{Description: "another"}))
		_, err = c.FindPersonUser(s.ctx, "eve")
		s.must(err)
		_, err = c.FindUser(s.ctx, "nobody")
		s.must(err)
		s.must(c.CreateGroup(s.ctx, "others", ssotypes.AdminGroupDetails{}))
		s.must(c.AddUsersToGroup(s.ctx, "others", ssotypes.PrincipalId{Name: "eve", Domain: "vsphere.local"}))
		_, err = c.FindGroup(s.ctx, "others")
		s.must(err)
		s.must(c.DeletePrincipal(s.ctx, "eve"))
		s.must(c.DeletePrincipal(s.ctx, "others"))
		s.must(c.Logout(s.ctx))
	}, nil},
	{"agents", func(s *side) {
		c := eam.NewClient(s.vim)
		s.tap(c.Client)
		m := eamobject.NewEsxAgentManager(c, eam.EsxAgentManager)
		_, err := m.Agencies(s.ctx)
		s.must(err)
		agency, err := m.CreateAgency(s.ctx, &eamtypes.AgencyConfigInfo{
			AgencyName: "agency", AgentName: "agent",
			Scope: &eamtypes.AgencyComputeResourceScope{ComputeResource: []types.ManagedObjectReference{s.cluster}},
		}, string(eamtypes.EamObjectRuntimeInfoGoalStateEnabled))
		s.must(err)
		_, err = agency.Config(s.ctx)
		s.must(err)
		_, err = agency.Runtime(s.ctx)
		s.must(err)
		_, err = agency.Issues(s.ctx)
		s.must(err)
		s.must(agency.Disable(s.ctx))
		s.must(agency.Enable(s.ctx))
		s.must(agency.Destroy(s.ctx))
	}, nil},
	{"vSAN", func(s *side) {
		c, err := vsan.NewClient(s.ctx, s.vim)
		s.must(err)
		s.tap(c.Client)
		task, err := c.VsanClusterReconfig(s.ctx, s.cluster, vsantypes.VimVsanReconfigSpec{UnmapConfig: &vsantypes.VsanUnmapConfig{Enable: true}})
		s.must(err)
		s.must(task.Wait(s.ctx))
		_, err = c.VsanClusterGetConfig(s.ctx, s.cluster)
		s.must(err)
		_, _ = c.VsanClusterGetConfig(s.ctx, types.ManagedObjectReference{Type: "ClusterComputeResource", Value: "domain-c999"}) // compared below
	}, map[string]string{
		"returnval/enabled$":                      "a cluster says whether vSAN is enabled; govc vsan.info panics without it",
		"^VsanClusterGetConfig: (status 500|not)": "a cluster that is not there has no configuration",
	}},
	{"policies", func(s *side) {
		c, err := pbm.NewClient(s.ctx, s.vim)
		s.must(err)
		s.tap(c.Client)
		ids, err := c.QueryProfile(s.ctx, pbmtypes.PbmProfileResourceType{ResourceType: "STORAGE"}, "")
		s.must(err)
		_, err = c.RetrieveContent(s.ctx, ids[:1])
		s.must(err)
		_, err = c.RetrieveContent(s.ctx, []pbmtypes.PbmProfileId{{UniqueId: "none"}})
		s.fails(err)
	}, nil},
	{"first-class disks", func(s *side) {
		c, err := vslm.NewClient(s.ctx, s.vim)
		s.must(err)
		s.tap(c.Client)
		m := vslm.NewGlobalObjectManager(c)
		task, err := m.CreateDisk(s.ctx, types.VslmCreateSpec{
			Name: "disk", CapacityInMB: 10,
			BackingSpec: &types.VslmCreateSpecDiskFileBackingSpec{VslmCreateSpecBackingSpec: types.VslmCreateSpecBackingSpec{Datastore: s.datastore}},
		})
		s.must(err)
		_, err = task.Wait(s.ctx, time.Minute)
		s.must(err)
		found, err := m.List(s.ctx)
		s.must(err)
		id := found.Id[len(found.Id)-1]
		_, err = m.Retrieve(s.ctx, id)
		s.must(err)
		task, err = m.CreateSnapshot(s.ctx, id, "before")
		s.must(err)
		_, err = task.Wait(s.ctx, time.Minute)
		s.must(err)
		_, err = m.RetrieveSnapshotInfo(s.ctx, id)
		s.must(err)
		_, err = m.Retrieve(s.ctx, types.ID{Id: "none"})
		s.fails(err)
	}, nil},
	{"volumes", func(s *side) {
		c, err := cns.NewClient(s.ctx, s.vim)
		s.must(err)
		s.tap(c.Client)
		task, err := c.CreateVolume(s.ctx, []cnstypes.CnsVolumeCreateSpec{{
			Name: "volume", VolumeType: string(cnstypes.CnsVolumeTypeBlock), Datastores: []types.ManagedObjectReference{s.datastore},
			Metadata:             cnstypes.CnsVolumeMetadata{ContainerCluster: cnstypes.CnsContainerCluster{ClusterType: "KUBERNETES", ClusterId: "c", VSphereUser: "user"}},
			BackingObjectDetails: &cnstypes.CnsBlockBackingDetails{CnsBackingObjectDetails: cnstypes.CnsBackingObjectDetails{CapacityInMb: 10}},
		}})
		s.must(err)
		s.must(task.Wait(s.ctx))
		_, _ = c.QueryVolume(s.ctx, &cnstypes.CnsQueryFilter{Names: []string{"volume"}}) // compared below
		found, err := c.QueryVolume(s.ctx, &cnstypes.CnsQueryFilter{ContainerClusterIds: []string{"c"}})
		s.must(err)
		if len(found.Volumes) == 0 {
			s.t.Fatalf("%s: no volume", s.name)
		}
		_, err = c.QueryVolumeInfo(s.ctx, []cnstypes.CnsVolumeId{found.Volumes[0].VolumeId})
		s.must(err)
		_, err = c.DeleteVolume(s.ctx, []cnstypes.CnsVolumeId{found.Volumes[0].VolumeId}, true)
		s.must(err)
	}, map[string]string{
		"^CnsQueryVolume: not (there|recorded): .*/backingObjectDetails": "the details have their type, and the disk's object",
		"(containerClusterArray|totalRecords|changedBlockTracking)":      "fields that a vCenter always has",
	}},
}
