package cns

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/host"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// store is a snapshot of a datastore's state.
type store struct {
	ref       vc.Ref
	name, url string
	dir       string // of its files
	kind      string // "VMFS", "vsan", …
	free      int64  // bytes; 0 if it was filled
	// hosts are the connected hosts that mount it and have a path to it. degraded: other hosts mount it and do not reach it.
	hosts    []vc.Ref
	degraded bool
	// maintenance: it accepts no new files.
	maintenance bool
}

// reachedBy reports whether the host reaches it.
func (s *store) reachedBy(host vc.Ref) bool { return slices.Contains(s.hosts, host) }

// store reads a datastore; nil if it does not exist. The caller must hold no lock, except ctx's on a VM.
func (m *Manager) store(ctx *simulator.Context, ref vc.Ref) *store {
	ds, ok := ctx.Map.Get(ref).(*simulator.Datastore)
	if !ok {
		return nil
	}
	s := &store{ref: ref}
	var mounts []types.DatastoreHostMount
	ctx.WithLock(ds, func() {
		s.name, s.dir, s.url, s.kind, s.free = ds.Name, ds.Summary.Url, ds.Summary.Url, ds.Summary.Type, ds.Summary.FreeSpace
		s.maintenance = ds.Summary.MaintenanceMode != "" && ds.Summary.MaintenanceMode != string(types.DatastoreSummaryMaintenanceModeStateNormal)
		mounts = slices.Clone(ds.Host)
	})
	if m.opts.URL != nil {
		s.url = m.opts.URL(ref)
	}
	if h := host.Of(ctx); h != nil && h.Full(ref) {
		s.free = 0
	}
	for _, mount := range mounts {
		if (mount.MountInfo.Accessible == nil || *mount.MountInfo.Accessible) && connected(ctx, mount.Key) {
			s.hosts = append(s.hosts, mount.Key)
		} else {
			s.degraded = true
		}
	}
	return s
}

// storeName returns the name of a datastore, or its reference if it is gone.
func (m *Manager) storeName(ctx *simulator.Context, ref vc.Ref) string {
	if s := m.store(ctx, ref); s != nil {
		return s.name
	}
	return ref.Value
}

// stores reads all datastores.
func (m *Manager) stores(ctx *simulator.Context) map[vc.Ref]*store {
	all := make(map[vc.Ref]*store)
	for _, obj := range ctx.Map.AllReference("Datastore") {
		ref := obj.(*simulator.Datastore).Self
		if s := m.store(ctx, ref); s != nil {
			all[ref] = s
		}
	}
	return all
}

func connected(ctx *simulator.Context, ref vc.Ref) (yes bool) {
	h, ok := ctx.Map.Get(ref).(*simulator.HostSystem)
	if !ok {
		return false
	}
	ctx.WithLock(h, func() {
		yes = h.Runtime.ConnectionState == types.HostSystemConnectionStateConnected
	})
	return yes
}
