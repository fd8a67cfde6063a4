package cns

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// CNS changes vcsim's catalogue of first-class disks. It replaces entries instead of changing them, because answers of vcsim may
// hold them.

// disk is an entry of the catalogue.
type disk = simulator.VStorageObject

// catalogue calls f with the catalogue locked.
func (m *Manager) catalogue(ctx *simulator.Context, f func(all map[vc.Ref]map[types.ID]*disk)) {
	m.disks.Lock() // before the manager's own lock, as calls of vSLM do: see Guard
	defer m.disks.Unlock()
	om := ctx.Map.VStorageObjectManager()
	ctx.WithLock(om, func() { f(om.Catalog()) })
}

// findDisk looks for a disk in all datastores, and returns a copy.
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

// putDisk adds or replaces a disk.
func (m *Manager) putDisk(ctx *simulator.Context, d *disk) {
	ref := d.Config.Backing.GetBaseConfigInfoBackingInfo().Datastore
	m.catalogue(ctx, func(all map[vc.Ref]map[types.ID]*disk) {
		if all[ref] == nil {
			all[ref] = make(map[types.ID]*disk)
		}
		all[ref][d.Config.Id] = d
	})
}

// editDisk replaces a disk with a changed copy. It looks in all datastores, because a volume's record may say earlier than the
// catalogue that the volume has moved.
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

// dropDisk removes a disk from the catalogue.
func (m *Manager) dropDisk(ctx *simulator.Context, on vc.Ref, id string) {
	m.catalogue(ctx, func(all map[vc.Ref]map[types.ID]*disk) { delete(all[on], types.ID{Id: id}) })
}

// consumers updates the catalogue with the VM that has a disk, as CNS knows it now. The volume may be in any state, even about to
// be relocated.
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
				path = b.FilePath // a copy on another VM has the same ID for a short time
			}
			if at, ok := m.sighted(v.id, path); ok {
				d.Config.ConsumerId = []types.ID{{Id: at.uuid}}
			}
		}
	})
}
