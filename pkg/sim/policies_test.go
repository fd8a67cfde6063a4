package sim_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/pbm"
	"github.com/vmware/govmomi/pbm/methods"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

const tiers = `apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: tiers}
spec:
  tagCategories: [{name: tier, cardinality: multiple, types: [Datastore]}]
  vcenters:
    - name: one
      policies:
        - {name: gold, description: on flash, tags: [{category: tier, name: gold}]}
        - {name: gold and safe, tags: [{category: tier, name: gold}, {category: tier, name: safe}]}
        - {name: files, types: [nfs, nfs41]}
      datacenters:
        - name: dc
          datastores:
            - {name: flash, type: vsan, tags: [{category: tier, name: gold}]}
            - {name: mirror, tags: [{category: tier, name: gold}, {category: tier, name: safe}]}
            - {name: share, type: nfs41}
            - {name: vols, type: vvol}
          hosts: [{name: esx}]
    - {name: two, policies: [{name: gold, types: [vmfs]}], datacenters: [{name: dc, hosts: [{name: esx}]}]}
`

// policiesOf is a client of a vCenter's storage policy service, and its datastores by reference.
func policiesOf(t *testing.T, lab *sim.Lab, vcenter string) (*pbm.Client, map[string]string) {
	t.Helper()
	c := lab.Client(vcenter).Client
	client, err := pbm.NewClient(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	all, err := find.NewFinder(c).DatastoreList(t.Context(), "/dc/datastore/*")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, ds := range all {
		names[ds.Reference().Value] = ds.Name()
	}
	return client, names
}

func hubNames(hubs []pbmtypes.PbmPlacementHub, names map[string]string) []string {
	var all []string
	for _, h := range hubs {
		all = append(all, names[h.HubId])
	}
	slices.Sort(all)
	return all
}

// TestPolicyCompatibility: a policy accepts the datastores that carry its tags or are of its type, in every call that asks.
func TestPolicyCompatibility(t *testing.T) {
	lab := sim.Start(t, tiers)
	client, names := policiesOf(t, lab, "one")
	v, _ := lab.VCenter("one")
	for policy, want := range map[string][]string{
		"gold":                                   {"flash", "mirror"},
		"gold and safe":                          {"mirror"},
		"files":                                  {"share"},
		"vSAN Default Storage Policy":            {"flash"},
		"VVol No Requirements Policy":            {"vols"},
		"VM Encryption Policy":                   {"flash", "mirror", "share", "vols"},
		"Host-local PMem Default Storage Policy": nil,
	} {
		id, err := client.ProfileIDByName(t.Context(), policy)
		if err != nil {
			t.Fatal(err)
		}
		profile := pbmtypes.PbmProfileId{UniqueId: id}
		res, err := methods.PbmCheckCompatibility(t.Context(), client, &pbmtypes.PbmCheckCompatibility{
			This: client.ServiceContent.PlacementSolver, Profile: profile,
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, hubNames(pbm.PlacementCompatibilityResult(res.Returnval).CompatibleDatastores(), names)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", policy, diff)
		}
		required, err := client.CheckRequirements(t.Context(), nil, nil, []pbmtypes.BasePbmPlacementRequirement{
			&pbmtypes.PbmPlacementCapabilityProfileRequirement{ProfileId: profile},
		})
		if err != nil || len(required) != len(names) {
			t.Errorf("%s: %d answers, %v", policy, len(required), err)
		}
		if diff := cmp.Diff(want, hubNames(required.CompatibleDatastores(), names)); diff != "" {
			t.Errorf("requirements of %s (-want +got):\n%s", policy, diff)
		}
		matching, err := methods.PbmQueryMatchingHub(t.Context(), client, &pbmtypes.PbmQueryMatchingHub{
			This: client.ServiceContent.PlacementSolver, Profile: profile,
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, hubNames(matching.Returnval, names)); diff != "" {
			t.Errorf("hubs of %s (-want +got):\n%s", policy, diff)
		}
		for ref, name := range names {
			if got := v.Compatible(id, types.ManagedObjectReference{Type: "Datastore", Value: ref}); got != slices.Contains(want, name) {
				t.Errorf("%s on %s: %v", policy, name, got)
			}
		}
	}
	some := types.ManagedObjectReference{Type: "Datastore", Value: "datastore-none"}
	if v.Compatible("none", some) || v.Compatible(mustID(t, client, "files"), some) || !v.Compatible("", some) {
		t.Error("what is not there is compatible")
	}
}

func mustID(t *testing.T, c *pbm.Client, name string) string {
	t.Helper()
	id, err := c.ProfileIDByName(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestPolicyFollowsTags: what a datastore carries now counts.
func TestPolicyFollowsTags(t *testing.T) {
	lab := sim.Start(t, tiers)
	client, names := policiesOf(t, lab, "one")
	v, _ := lab.VCenter("one")
	gold := mustID(t, client, "gold")
	var share types.ManagedObjectReference
	for ref, name := range names {
		if name == "share" {
			share = types.ManagedObjectReference{Type: "Datastore", Value: ref}
		}
	}
	m := tags.NewManager(lab.REST("one"))
	if err := m.AttachTag(t.Context(), "gold", share); err != nil {
		t.Fatal(err)
	}
	if !v.Compatible(gold, share) {
		t.Error("the tag was attached, and the datastore does not comply")
	}
	if err := m.DetachTag(t.Context(), "gold", share); err != nil {
		t.Fatal(err)
	}
	if v.Compatible(gold, share) {
		t.Error("the tag was detached, and the datastore complies")
	}
}

// TestPoliciesOfSiblings: two vCenters share neither policies nor their identifiers, but those of vSphere itself.
func TestPoliciesOfSiblings(t *testing.T) {
	lab := sim.Start(t, tiers)
	one, _ := policiesOf(t, lab, "one")
	two, _ := policiesOf(t, lab, "two")
	if mustID(t, one, "gold") == mustID(t, two, "gold") {
		t.Error("two policies of one name have one identifier")
	}
	if mustID(t, one, "vSAN Default Storage Policy") != mustID(t, two, "vSAN Default Storage Policy") {
		t.Error("vSphere's own have one identifier everywhere")
	}
	id := pbmtypes.PbmProfileId{UniqueId: mustID(t, one, "vSAN Default Storage Policy")}
	if err := one.UpdateProfile(t.Context(), id, pbmtypes.PbmCapabilityProfileUpdateSpec{Name: "renamed"}); err != nil {
		t.Fatal(err)
	}
	if _, err := two.ProfileIDByName(t.Context(), "renamed"); err == nil {
		t.Error("a policy of one vCenter was renamed in another")
	}
	if one.ServiceContent.AboutInfo.InstanceUuid == two.ServiceContent.AboutInfo.InstanceUuid {
		t.Error("two services have one instance UUID")
	}
}

// TestPoliciesOfClients: clients create, change and delete policies, and are refused where a vCenter refuses them.
func TestPoliciesOfClients(t *testing.T) {
	lab := sim.Start(t, tiers)
	c, names := policiesOf(t, lab, "one")
	spec, err := pbm.CreateCapabilityProfileSpec(pbm.CapabilityProfileCreateSpec{
		Name: "silver", Category: "REQUIREMENT", SubProfileName: "s",
		CapabilityList: []pbm.Capability{{ID: "tier", Namespace: "http://www.vmware.com/storage/tag", PropertyList: []pbm.Property{{
			ID: "com.vmware.storage.tag.tier.property", Value: "silver,safe", DataType: "set",
		}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	id, err := c.CreateProfile(t.Context(), *spec)
	if err != nil {
		t.Fatal(err)
	}
	match := func() []string {
		res, err := methods.PbmQueryMatchingHub(t.Context(), c, &pbmtypes.PbmQueryMatchingHub{This: c.ServiceContent.PlacementSolver, Profile: *id})
		if err != nil {
			t.Fatal(err)
		}
		return hubNames(res.Returnval, names)
	}
	if diff := cmp.Diff([]string{"mirror"}, match()); diff != "" {
		t.Errorf("silver (-want +got):\n%s", diff)
	}
	if _, err := c.CreateProfile(t.Context(), *spec); !fault.Is(err, new(pbmtypes.PbmDuplicateName)) {
		t.Errorf("a second of the name: %v", err)
	}
	if err := c.UpdateProfile(t.Context(), *id, pbmtypes.PbmCapabilityProfileUpdateSpec{Name: "gold"}); !fault.Is(err, new(pbmtypes.PbmDuplicateName)) {
		t.Errorf("a name that is taken: %v", err)
	}
	outcome, err := c.DeleteProfile(t.Context(), []pbmtypes.PbmProfileId{*id, {UniqueId: mustID(t, c, "vSAN Default Storage Policy")}})
	if err != nil || len(outcome) != 1 || !fault.Is(outcome[0].Fault, new(pbmtypes.PbmResourceInUse)) {
		t.Errorf("deletion: %+v, %v", outcome, err)
	}
	if _, err := c.RetrieveContent(t.Context(), []pbmtypes.PbmProfileId{*id}); !fault.Is(err, new(types.InvalidArgument)) {
		t.Errorf("content of what is gone: %v", err)
	}
	again, err := c.CreateProfile(t.Context(), *spec)
	if err != nil || again.UniqueId == id.UniqueId {
		t.Errorf("made again it is %v, was %v; %v", again, id, err)
	}
}

// TestPolicyInUse: a policy that a volume was made with says so, and stays.
func TestPolicyInUse(t *testing.T) {
	lab := sim.Start(t, tiers)
	c, names := policiesOf(t, lab, "one")
	files := pbmtypes.PbmProfileId{UniqueId: mustID(t, c, "files")}
	volumes, err := cns.NewClient(t.Context(), lab.Client("one").Client)
	if err != nil {
		t.Fatal(err)
	}
	create := func(policy string) (string, error) {
		spec := cnstypes.CnsVolumeCreateSpec{
			Name: "pvc-" + policy, VolumeType: string(cnstypes.CnsVolumeTypeBlock),
			Metadata: cnstypes.CnsVolumeMetadata{ContainerCluster: cnstypes.CnsContainerCluster{
				ClusterType: string(cnstypes.CnsClusterTypeKubernetes), ClusterId: "c", ClusterFlavor: string(cnstypes.CnsClusterFlavorVanilla),
			}},
			Profile: []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineDefinedProfileSpec{ProfileId: mustID(t, c, policy)}},
			BackingObjectDetails: &cnstypes.CnsBlockBackingDetails{
				CnsBackingObjectDetails: cnstypes.CnsBackingObjectDetails{CapacityInMb: 1024},
			},
		}
		for ref := range names {
			spec.Datastores = append(spec.Datastores, types.ManagedObjectReference{Type: "Datastore", Value: ref})
		}
		task, err := volumes.CreateVolume(t.Context(), []cnstypes.CnsVolumeCreateSpec{spec})
		if err != nil {
			return "", err
		}
		info, err := task.WaitForResult(t.Context())
		if err != nil {
			return "", err
		}
		res := info.Result.(cnstypes.CnsVolumeOperationBatchResult).VolumeResults[0].GetCnsVolumeOperationResult()
		if res.Fault != nil {
			return "", fmt.Errorf("%T", res.Fault.Fault)
		}
		return res.VolumeId.Id, nil
	}
	id, err := create("files")
	if err != nil {
		t.Fatal(err)
	}
	v, _ := lab.VCenter("one")
	if made, ok := v.Volume(id); !ok || made.DatastoreName != "share" {
		t.Errorf("the volume by policy is %+v", made)
	}
	entities, err := c.QueryAssociatedEntity(t.Context(), files, "")
	if err != nil || len(entities) != 1 || entities[0].Key != id {
		t.Errorf("the policy is applied to %+v, %v", entities, err)
	}
	profiles, err := c.QueryAssociatedProfile(t.Context(), entities[0])
	if err != nil || len(profiles) != 1 || profiles[0] != files {
		t.Errorf("the volume has the policies %v, %v", profiles, err)
	}
	outcome, err := c.DeleteProfile(t.Context(), []pbmtypes.PbmProfileId{files})
	if err != nil || len(outcome) != 1 || !fault.Is(outcome[0].Fault, new(pbmtypes.PbmResourceInUse)) {
		t.Errorf("deletion: %+v, %v", outcome, err)
	}
	if _, err := create("Host-local PMem Default Storage Policy"); err == nil {
		t.Error("a volume was made that no datastore suits")
	}
}

// TestPoliciesRace: policies are read while they change.
func TestPoliciesRace(t *testing.T) {
	lab := sim.Start(t, tiers)
	c, names := policiesOf(t, lab, "one")
	v, _ := lab.VCenter("one")
	gold := pbmtypes.PbmProfileId{UniqueId: mustID(t, c, "gold")}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 25 {
				switch i {
				case 0:
					if err := c.UpdateProfile(t.Context(), gold, pbmtypes.PbmCapabilityProfileUpdateSpec{Description: fmt.Sprint(n)}); err != nil {
						t.Error(err)
					}
				case 1:
					if _, err := c.RetrieveContent(t.Context(), []pbmtypes.PbmProfileId{gold}); err != nil {
						t.Error(err)
					}
				case 2:
					if _, err := c.CheckRequirements(t.Context(), nil, nil, []pbmtypes.BasePbmPlacementRequirement{
						&pbmtypes.PbmPlacementCapabilityProfileRequirement{ProfileId: gold},
					}); err != nil {
						t.Error(err)
					}
				case 3:
					for ref := range names {
						v.Compatible(gold.UniqueId, types.ManagedObjectReference{Type: "Datastore", Value: ref})
					}
					v.Policies()
				}
			}
		})
	}
	wg.Wait()
}
