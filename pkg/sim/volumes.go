package sim

import (
	"path/filepath"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
)

// Volume is a volume of a vCenter, with the names of what it is on.
type Volume struct {
	cns.Volume
	// DatastoreName is empty when the datastore is gone; VMName is empty when the volume is attached to no VM.
	DatastoreName, VMName string
}

// Volumes are all that CNS knows, ordered by id.
func (v *VCenter) Volumes() []Volume {
	all := v.service.volumes.Volumes()
	named := make([]Volume, len(all))
	for i := range all {
		named[i] = v.withNames(all[i])
	}
	return named
}

// Volume is the one of that id; false when CNS knows none.
func (v *VCenter) Volume(id string) (Volume, bool) {
	is, ok := v.service.volumes.Volume(id)
	return v.withNames(is), ok
}

func (v *VCenter) withNames(is cns.Volume) Volume {
	return Volume{Volume: is, DatastoreName: v.nameOf(is.Datastore), VMName: v.nameOf(is.VM)}
}

// VolumesDir is the directory in which all [VCenter.VolumeDir] of a simulation are that has the given Options.Dir.
func VolumesDir(dir string) string { return filepath.Join(dir, "volumes") }

// VolumeDir is the directory that stands for the volume's disk: see pkg/csi/disk. It is there as long as the disk. In place of
// the id it takes the path of a disk of the in-tree provider, "[ds] kubevols/a.vmdk", be it a volume or not yet.
func (v *VCenter) VolumeDir(id string) string {
	if strings.HasSuffix(id, ".vmdk") {
		return v.service.volumes.DirOfFile(id)
	}
	return v.service.volumes.Dir(id)
}

// DiskDir is [VCenter.VolumeDir] of the volume whose disk has that UUID, in any form; false when there is none.
func (v *VCenter) DiskDir(uuid string) (string, bool) { return v.service.volumes.DirOfDisk(uuid) }

// newVolumes makes the vCenter's CNS. vSphere's file systems and policies have to be there.
func (s *service) newVolumes(p parts) *cns.Manager {
	return cns.New(s.ctx, cns.Options{
		VCenter: p.spec.Name, Events: p.events, Seed: p.seed, Dir: p.contents,
		URL: s.urlOf, Compatible: s.policies.Compatible, Cause: p.cause, Guests: p.guests,
	})
}

// urlOf is the URL that clients know a datastore by.
func (s *service) urlOf(ref types.ManagedObjectReference) (url string) {
	ctx := vc.Fresh(s.ctx)
	if ds, ok := ctx.Map.Get(ref).(*simulator.Datastore); ok {
		ctx.WithLock(ds, func() { url = inventory.URL(&ds.Datastore) })
	}
	return url
}

// causeOf is the event that causes what happens to the VM; 0 when none is known.
func (v *VCenter) causeOf(vm types.ManagedObjectReference) uint64 {
	if v.guests == nil {
		return 0 // it is not serving yet
	}
	return v.guests.Cause(vm)
}
