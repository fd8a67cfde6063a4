package sim

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/policy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/profile"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Policy is a storage policy of a vCenter.
type Policy struct {
	// ID is the identifier for volumes and CNS, the same in each run.
	ID, Name, Description string
	// BuiltIn is set for the policies of every vCenter.
	BuiltIn bool
	// Datastores currently meet the policy, by their tags and types.
	Datastores []types.ManagedObjectReference
}

// Policies returns the vCenter's storage policies in the order of creation: built-in ones, then those of the topology and of
// clients.
func (v *VCenter) Policies() []Policy {
	var all []Policy
	for _, p := range v.service.policies.List() {
		all = append(all, Policy{
			ID: p.ProfileId.UniqueId, Name: p.Name, Description: p.Description,
			BuiltIn: policy.BuiltIn(p), Datastores: v.service.policies.Datastores(p.ProfileId.UniqueId),
		})
	}
	return all
}

// Compatible reports whether a datastore meets the storage policy with that identifier: every datastore meets the empty one, and
// none an unknown one. It locks the datastore.
func (v *VCenter) Compatible(profile string, datastore types.ManagedObjectReference) bool {
	return v.service.policies.Compatible(profile, datastore)
}

// newPolicies returns the storage policy service of the vCenter with that instance UUID.
func (s *service) newPolicies(instance string) *profile.Service {
	return profile.New(profile.Options{Base: s.ctx, InstanceUUID: instance, Tags: s.tagsOn, Uses: s.policyUses})
}

// policyUses returns the volumes with a storage policy.
func (s *service) policyUses() []profile.Use {
	var all []profile.Use
	for _, v := range s.volumes.Volumes() {
		if v.PolicyID != "" {
			all = append(all, profile.Use{Profile: v.PolicyID, Object: pbm.PbmServerObjectRef{
				ObjectType: string(pbm.PbmObjectTypeVirtualDiskUUID), Key: v.ID,
			}})
		}
	}
	return all
}

// tagsOn returns the tags of an object.
func (s *service) tagsOn(ref vc.Ref) []topology.Tag {
	var all []topology.Tag
	for _, id := range s.rest.Tags(ref) {
		if category, name, fault := s.rest.GetTagCategoryAndName(id); fault == nil {
			all = append(all, topology.Tag{Category: category, Name: name})
		}
	}
	return all
}

// Volume is a volume of a vCenter, with the names of its datastore and VM.
type Volume struct {
	cns.Volume
	// DatastoreName is empty if the datastore is gone; VMName is empty if the volume is detached.
	DatastoreName, VMName string
}

// Volumes returns all volumes of CNS, ordered by ID.
func (v *VCenter) Volumes() []Volume {
	all := v.service.volumes.Volumes()
	named := make([]Volume, len(all))
	for i := range all {
		named[i] = v.withNames(all[i])
	}
	return named
}

// Volume returns the volume with that ID, and false if there is no such volume.
func (v *VCenter) Volume(id string) (Volume, bool) {
	is, ok := v.service.volumes.Volume(id)
	return v.withNames(is), ok
}

func (v *VCenter) withNames(is cns.Volume) Volume {
	return Volume{Volume: is, DatastoreName: v.nameOf(is.Datastore), VMName: v.nameOf(is.VM)}
}

// StateDir returns the directory of the simulated vCenters in a sandbox's directory.
func StateDir(dir string) string { return filepath.Join(dir, "sim") }

// VolumesDir returns the parent of all [VCenter.VolumeDir] of a simulation with the given Options.Dir.
func VolumesDir(dir string) string { return filepath.Join(dir, "volumes") }

// VolumeDir returns the directory with the contents of the volume's disk: see pkg/csi/disk. It exists as long as the disk. It
// also accepts the path of a disk of the in-tree provider, "[ds] kubevols/a.vmdk", which may not be a volume yet.
func (v *VCenter) VolumeDir(id string) string {
	if strings.HasSuffix(id, ".vmdk") {
		return v.service.volumes.DirOfFile(id)
	}
	return v.service.volumes.Dir(id)
}

// newVolumes creates the vCenter's CNS. Datastores and policies must exist.
func (s *service) newVolumes(p parts) *cns.Manager {
	return cns.New(s.ctx, cns.Options{
		VCenter: p.spec.Name, Events: p.events, Seed: p.seed, Dir: p.contents,
		URL: s.urlOf, Compatible: s.policies.Compatible, Cause: p.cause, Guests: p.guests, FileService: s.fileService,
	})
}

// urlOf returns the URL of a datastore for clients.
func (s *service) urlOf(ref types.ManagedObjectReference) (url string) {
	ctx := vc.Fresh(s.ctx)
	if ds, ok := ctx.Map.Get(ref).(*simulator.Datastore); ok {
		ctx.WithLock(ds, func() { url = inventory.URL(&ds.Datastore) })
	}
	return url
}

// causeOf returns the event that causes what happens to the VM, or 0.
func (v *VCenter) causeOf(vm types.ManagedObjectReference) uint64 {
	if v.guests == nil {
		return 0 // it does not serve yet
	}
	return v.guests.Cause(vm)
}

// Changes of volumes without Kubernetes.

// DetachVolume removes the volume from its VM, as an administrator does who edits the VM. A detached volume is an error.
func (v *VCenter) DetachVolume(ctx context.Context, id string) error {
	return v.service.volumes.Detach(ctx, id)
}

// RelocateVolume moves the volume to the datastore with that name in the same datacenter.
func (v *VCenter) RelocateVolume(ctx context.Context, id, datastore string) error {
	is, ok := v.service.volumes.Volume(id)
	if !ok {
		return fmt.Errorf("volume %s: no such volume", id)
	}
	to, err := v.datastoreBeside(is.Datastore, datastore)
	if err != nil {
		return fmt.Errorf("volume %s: %w", id, err)
	}
	return v.service.volumes.Relocate(ctx, id, to)
}

// datastoreBeside returns a datastore by name in the datacenter of another one; if that is gone, in any datacenter, if the name
// is unique.
func (v *VCenter) datastoreBeside(beside types.ManagedObjectReference, name string) (vc.Ref, error) {
	ctx := vc.Fresh(v.service.ctx)
	here, known := vc.Datacenter(ctx.Map, beside)
	var found []vc.Ref
	for _, obj := range ctx.Map.AllReference("Datastore") {
		ds, ok := obj.(*simulator.Datastore)
		if !ok || v.nameOf(ds.Self) != name {
			continue
		}
		if there, _ := vc.Datacenter(ctx.Map, ds.Self); known && there == here {
			return ds.Self, nil
		}
		found = append(found, ds.Self)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return vc.Ref{}, fmt.Errorf("datastore %q: no such datastore", name)
	}
	return vc.Ref{}, fmt.Errorf("datastore %q: there are %d in other datacenters", name, len(found))
}
