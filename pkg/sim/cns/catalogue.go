package cns

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// vSphere's catalogue of first class disks is vcsim's own: here is how CNS changes it. What an entry points to is never
// changed, but replaced: answers of vcsim's may hold it.

// disk is an entry of the catalogue.
type disk = simulator.VStorageObject

// catalogue calls f with the catalogue locked.
func (m *Manager) catalogue(ctx *simulator.Context, f func(all map[vc.Ref]map[types.ID]*disk)) {
	m.disks.Lock() // before the manager's own, as calls of vSLM have it: see Guard
	defer m.disks.Unlock()
	om := ctx.Map.VStorageObjectManager()
	ctx.WithLock(om, func() { f(om.Catalog()) })
}

// findDisk looks for a disk in all datastores, and copies it.
func (m *Manager) findDisk(ctx *simulator.Context, id string) (d disk, found bool) {
	m.catalogue(ctx, func(all map[vc.Ref]map[types.ID]*disk) {
		for _, disks := range all {
			if is := disks[types.ID{Id: id}]; is != nil {
				d, found = *is, true
				return
			}
		}
	})
	return d, found
}

// putDisk adds a disk, or replaces the one of its id there.
func (m *Manager) putDisk(ctx *simulator.Context, d *disk) {
	ref := d.Config.Backing.GetBaseConfigInfoBackingInfo().Datastore
	m.catalogue(ctx, func(all map[vc.Ref]map[types.ID]*disk) {
		if all[ref] == nil {
			all[ref] = make(map[types.ID]*disk)
		}
		all[ref][d.Config.Id] = d
	})
}

// editDisk changes a disk that is there: what change does to the copy takes the place of what was. It is looked for in all
// datastores, for a volume's record says before the catalogue that the volume has moved.
func (m *Manager) editDisk(ctx *simulator.Context, id string, change func(d *disk)) {
	key := types.ID{Id: id}
	m.catalogue(ctx, func(all map[vc.Ref]map[types.ID]*disk) {
		for _, disks := range all {
			if is := disks[key]; is != nil {
				d := *is
				change(&d)
				disks[key] = &d
				return
			}
		}
	})
}

// dropDisk takes a disk out of the catalogue.
func (m *Manager) dropDisk(ctx *simulator.Context, on vc.Ref, id string) {
	m.catalogue(ctx, func(all map[vc.Ref]map[types.ID]*disk) { delete(all[on], types.ID{Id: id}) })
}

// consumers writes into the catalogue which VM has a disk, as CNS knows it now. The volume may be of any state, also about to
// be relocated, and none at all.
func (m *Manager) consumers(ctx *simulator.Context, v *volume) {
	m.editDisk(ctx, v.id, func(d *disk) {
		m.mu.Lock()
		defer m.mu.Unlock()
		d.Config.ConsumerId = nil
		if v.on != nil {
			d.Config.ConsumerId = []types.ID{{Id: v.on.uuid}}
		} else if m.volumes[v.id] != v {
			path := v.path
			if b, ok := d.Config.Backing.(*types.BaseConfigInfoDiskFileBackingInfo); ok {
				path = b.FilePath // a copy on another VM goes by the same id for a moment
			}
			if at, ok := m.sighted(v.id, path); ok {
				d.Config.ConsumerId = []types.ID{{Id: at.uuid}}
			}
		}
	})
}
