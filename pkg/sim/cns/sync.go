package cns

import (
	"github.com/vmware/govmomi/cns"
	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// CnsSyncVolume has CNS look again at what vSphere's catalogue of disks says of volumes.
func (m *Manager) CnsSyncVolume(_ *simulator.Context, req *cnstypes.CnsSyncVolume) soap.HasFault {
	const method = "CnsSyncVolume"
	return &methods.CnsSyncVolumeBody{Res: &cnstypes.CnsSyncVolumeResponse{
		Returnval: m.task(method, func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault) {
			return eachPlain(m, method, req.SyncSpecs, func(s *cnstypes.CnsSyncVolumeSpec) string { return s.VolumeId.Id },
				func(s *cnstypes.CnsSyncVolumeSpec) types.BaseMethodFault { return m.sync(ctx, s.VolumeId.Id) })
		}),
	}}
}

// sync makes the record of a volume what the catalogue has. A volume whose disk is gone is forgotten, and not found.
func (m *Manager) sync(ctx *simulator.Context, id string) types.BaseMethodFault {
	v := m.take(id)
	if v == nil {
		return new(types.NotFound)
	}
	if v.file {
		m.release(v, nil)
		return nil
	}
	d, found := m.findDisk(ctx, id)
	switch {
	case found:
		m.release(v, func() { v.adopt(&d) })
		return nil
	case m.attachedTo(v) != nil:
		m.release(v, nil)
		return inUse()
	}
	about := v.about(vc.Ref{})
	m.release(v, func() { m.drop(v) })
	m.log(about, event.Warning, "volume.lost", "its disk is gone: CNS forgets it")
	return new(types.NotFound)
}

// adopt takes over what the catalogue says. The lock is held.
func (v *volume) adopt(d *disk) {
	v.capacity = d.Config.CapacityInMB
	known := v.snapshot
	v.snapshot = nil
	for _, s := range d.Snapshots {
		if s.Id == nil {
			continue
		}
		mine := snapshot{id: s.Id.Id, description: s.Description, created: s.CreateTime, capacity: v.capacity, size: 1}
		for _, k := range known {
			if k.id == mine.id {
				mine = k
			}
		}
		v.snapshot = append(v.snapshot, mine)
	}
}

// debugManager is CNS's CnsDebugManager, at the same endpoint.
type debugManager struct {
	types.ManagedObjectReference
	m *Manager
}

func newDebugManager(m *Manager) *debugManager {
	return &debugManager{ManagedObjectReference: cns.CnsDebugManagerInstance, m: m}
}

// CnsSyncDatastore is CnsSyncVolume for the volumes on a datastore, on all when its URL is empty. Fault: InvalidArgument for
// a URL of none.
func (d *debugManager) CnsSyncDatastore(_ *simulator.Context, req *cnstypes.CnsSyncDatastore) soap.HasFault {
	return &methods.CnsSyncDatastoreBody{Res: &cnstypes.CnsSyncDatastoreResponse{
		Returnval: d.m.task("CnsSyncDatastore", func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault) {
			return nil, d.m.syncDatastore(ctx, req.DatastoreUrl)
		}),
	}}
}

func (m *Manager) syncDatastore(ctx *simulator.Context, url string) types.BaseMethodFault {
	found := url == ""
	wanted := make(map[vc.Ref]bool)
	for _, obj := range ctx.Map.AllReference("Datastore") {
		if s := m.store(ctx, obj.Reference()); s != nil && (url == "" || s.url == url) {
			wanted[s.ref], found = true, true
		}
	}
	if !found {
		return &types.InvalidArgument{InvalidProperty: "datastoreUrl"}
	}
	for _, v := range m.Volumes() {
		if wanted[v.Datastore] {
			_ = m.sync(ctx, v.ID) // what it finds is in the record
		}
	}
	return nil
}
