package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// LoseDatastore takes all paths to the datastore down, on the named hosts or on all. VMs with their configuration on it become
// inaccessible; running ones continue to run. Repeating it is harmless.
func (h *Hosts) LoseDatastore(ctx context.Context, ref types.ManagedObjectReference, hosts ...types.ManagedObjectReference) error {
	return h.mount(ctx, ref, hosts, false)
}

// RestoreDatastore restores the paths on the named hosts, or on all.
func (h *Hosts) RestoreDatastore(ctx context.Context, ref types.ManagedObjectReference, hosts ...types.ManagedObjectReference) error {
	return h.mount(ctx, ref, hosts, true)
}

func (h *Hosts) mount(parent context.Context, ref vc.Ref, hosts []vc.Ref, accessible bool) error {
	if err := parent.Err(); err != nil {
		return err
	}
	ctx := vc.Fresh(h.base)
	ds, ok := ctx.Map.Get(ref).(*simulator.Datastore)
	if !ok {
		return fmt.Errorf("datastore %s: no such datastore", ref.Value)
	}
	var vms []vc.Ref
	var err error
	changed, reached := false, false
	ctx.WithLock(ds, func() {
		mounts := slices.Clone(ds.Host)
		for _, want := range hosts {
			if !slices.ContainsFunc(mounts, func(m types.DatastoreHostMount) bool { return m.Key == want }) {
				err = fmt.Errorf("datastore %q: host %s does not mount it", ds.Name, want.Value)
				return
			}
		}
		for i := range mounts {
			info := &mounts[i].MountInfo
			was := info.Accessible == nil || *info.Accessible
			if len(hosts) == 0 || slices.Contains(hosts, mounts[i].Key) {
				changed = changed || was != accessible
				info.Accessible = new(accessible)
				info.InaccessibleReason = ""
				if !accessible {
					info.InaccessibleReason = string(types.HostMountInfoInaccessibleReasonAllPathsDown_Start)
				}
				was = accessible
			}
			reached = reached || was
		}
		if !changed {
			return
		}
		status := types.ManagedEntityStatusGreen
		if !reached {
			status = types.ManagedEntityStatusRed
		}
		ctx.Update(ds, []types.PropertyChange{
			vc.P("host", mounts), vc.P("summary.accessible", reached), vc.P("overallStatus", status),
		})
		vms = slices.Clone(ds.Vm)
	})
	if err != nil || !changed {
		return err
	}
	seq := h.logMount(ctx, ds, len(hosts), accessible)
	for _, vm := range vms {
		h.settle(vm, seq)
	}
	h.watcher.shout()
	return nil
}

// logMount reports a lost or restored datastore, in the vCenter's events and in the log.
func (h *Hosts) logMount(ctx *simulator.Context, ds *simulator.Datastore, hosts int, accessible bool) uint64 {
	kind, id, level := "datastore.lost", "esx.problem.storage.apd.start", event.Error
	message := "lost: all paths down on every host"
	if hosts > 0 {
		message = fmt.Sprintf("lost: all paths down on %d hosts", hosts)
	}
	severity := types.EventEventSeverityWarning
	if accessible {
		kind, id, level, severity = "datastore.back", "esx.clear.storage.apd.exit", event.Info, types.EventEventSeverityInfo
		message = "can be reached again"
	}
	vc.Post(ctx, &types.EventEx{
		Event: types.Event{
			FullFormattedMessage: "Datastore " + ds.Name + " " + message,
			Datacenter:           vc.DatacenterArgument(ctx, ds.Self),
			Ds:                   vc.DatastoreArgument(ds),
		},
		EventTypeId: id, Severity: string(severity), ObjectId: ds.Self.Value, ObjectType: ds.Self.Type, ObjectName: ds.Name,
	})
	return h.log(event.Object{Kind: "Datastore", Name: ds.Name}, ds.Self, level, kind, 0, message)
}

// Fill leaves no space on the datastore: calls that need space fail with NoDiskSpace. Repeating it is harmless.
func (h *Hosts) Fill(parent context.Context, ref types.ManagedObjectReference) error {
	ctx, ds, err := h.datastore(parent, ref)
	if err != nil {
		return err
	}
	done := false
	ctx.WithLock(ds, func() {
		h.mu.Lock()
		if _, full := h.full[ref]; !full {
			h.full[ref], done = ds.Summary.FreeSpace, true
		}
		h.mu.Unlock()
		if done {
			free(ctx, ds, 0)
		}
	})
	if done {
		h.log(event.Object{Kind: "Datastore", Name: ds.Name}, ref, event.Error, "datastore.full", 0, "has no space left")
	}
	return nil
}

// Free ends [Hosts.Fill] and restores the free space. It does nothing for a datastore that is not full.
func (h *Hosts) Free(parent context.Context, ref types.ManagedObjectReference) error {
	ctx, ds, err := h.datastore(parent, ref)
	if err != nil {
		return err
	}
	done := false
	ctx.WithLock(ds, func() {
		h.mu.Lock()
		was, full := h.full[ref]
		delete(h.full, ref)
		h.mu.Unlock()
		if done = full; full {
			free(ctx, ds, was+ds.Summary.FreeSpace) // including what was deleted since
		}
	})
	if done {
		h.log(event.Object{Kind: "Datastore", Name: ds.Name}, ref, event.Info, "datastore.freed", 0, "has space again")
	}
	return nil
}

// Full reports whether the datastore was filled.
func (h *Hosts) Full(ref types.ManagedObjectReference) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, full := h.full[ref]
	return full
}

// free sets the free space of a datastore whose lock is held, in bytes.
func free(ctx *simulator.Context, ds *simulator.Datastore, bytes int64) {
	changes := []types.PropertyChange{vc.P("summary.freeSpace", bytes)}
	if info := copyInfo(ds.Info); info != nil {
		info.GetDatastoreInfo().FreeSpace = bytes
		changes = append(changes, vc.P("info", info))
	}
	ctx.Update(ds, changes)
}

// copyInfo copies the details of a datastore; nil for kinds that the simulator does not create.
func copyInfo(info types.BaseDatastoreInfo) types.BaseDatastoreInfo {
	switch i := info.(type) {
	case *types.LocalDatastoreInfo:
		c := *i
		return &c
	case *types.VmfsDatastoreInfo:
		c := *i
		return &c
	case *types.NasDatastoreInfo:
		c := *i
		return &c
	case *types.VsanDatastoreInfo:
		c := *i
		return &c
	}
	return nil
}

func (h *Hosts) datastore(parent context.Context, ref vc.Ref) (*simulator.Context, *simulator.Datastore, error) {
	if err := parent.Err(); err != nil {
		return nil, nil, err
	}
	ctx := vc.Fresh(h.base)
	ds, ok := ctx.Map.Get(ref).(*simulator.Datastore)
	if !ok {
		return nil, nil, fmt.Errorf("datastore %s: no such datastore", ref.Value)
	}
	return ctx, ds, nil
}

// noSpace returns the fault of a call that needs space on the datastore, or nil if it has space.
func (h *Hosts) noSpace(ctx *simulator.Context, ref vc.Ref) types.BaseMethodFault {
	if !h.Full(ref) {
		return nil
	}
	name := ref.Value
	if ds, ok := ctx.Map.Get(ref).(*simulator.Datastore); ok {
		name = ds.Name
	}
	return &types.NoDiskSpace{FileFault: types.FileFault{File: "[" + name + "]"}, Datastore: name}
}

// noSpaceAt is [Hosts.noSpace] for the datastore of a path ("[datastore] file") in the datacenter of an object, since datacenters
// may have datastores of the same name. nil: in any datacenter.
func (h *Hosts) noSpaceAt(ctx *simulator.Context, in *vc.Ref, path string) types.BaseMethodFault {
	var p object.DatastorePath
	if !p.FromString(path) {
		return nil
	}
	h.mu.Lock()
	var full []vc.Ref
	for ref := range h.full {
		full = append(full, ref)
	}
	h.mu.Unlock()
	elsewhere := func(ref vc.Ref) bool {
		if in == nil {
			return false
		}
		here, known := vc.Datacenter(ctx.Map, *in)
		there, _ := vc.Datacenter(ctx.Map, ref)
		return known && here != there
	}
	for _, ref := range full {
		if ds, ok := ctx.Map.Get(ref).(*simulator.Datastore); ok && ds.Name == p.Datastore && !elsewhere(ref) {
			return &types.NoDiskSpace{FileFault: types.FileFault{File: path}, Datastore: ds.Name}
		}
	}
	return nil
}

type pairing struct{ datastore, host vc.Ref }

// unmounted is a removed mount, to restore it.
type unmounted struct {
	mount    types.DatastoreHostMount
	of, atDS int // indexes in the lists of the host and of the datastore
}

// Unmount removes the datastore from the host: neither lists the other any more. VMs there with their configuration on it become
// inaccessible. Repeating it is harmless.
func (h *Hosts) Unmount(parent context.Context, datastore, host types.ManagedObjectReference) error {
	ctx, ds, on, err := h.mountable(parent, datastore, host)
	if err != nil {
		return err
	}
	key := pairing{datastore, host}
	h.mounting.Lock()
	defer h.mounting.Unlock()
	if _, done := h.unmounts[key]; done {
		return nil
	}
	was := unmounted{atDS: -1}
	ctx.WithLock(ds, func() {
		was.atDS = slices.IndexFunc(ds.Host, func(m types.DatastoreHostMount) bool { return m.Key == host })
		if was.atDS < 0 {
			return
		}
		was.mount = ds.Host[was.atDS]
		h.showMounts(ctx, ds, slices.Delete(slices.Clone(ds.Host), was.atDS, was.atDS+1))
	})
	if was.atDS < 0 {
		return fmt.Errorf("datastore %q: host %q does not mount it", ds.Name, on.Name)
	}
	ctx.WithLock(on, func() {
		was.of = slices.Index(on.Datastore, datastore)
		if was.of >= 0 {
			ctx.Update(on, []types.PropertyChange{vc.P("datastore", slices.Delete(slices.Clone(on.Datastore), was.of, was.of+1))})
		}
	})
	h.unmounts[key] = was
	vc.Post(ctx, &types.DatastoreRemovedOnHostEvent{HostEvent: vc.HostEvent(ctx, on, "Removed datastore %s from %s", ds.Name, on.Name), Datastore: *vc.DatastoreArgument(ds)})
	h.remounted(ds, h.log(event.Object{Kind: "Datastore", Name: ds.Name}, ds.Self, event.Warning, "datastore.unmounted", 0, "removed from host "+on.Name))
	return nil
}

// Mount reverts [Hosts.Unmount]. It does nothing for a mounted datastore.
func (h *Hosts) Mount(parent context.Context, datastore, host types.ManagedObjectReference) error {
	ctx, ds, on, err := h.mountable(parent, datastore, host)
	if err != nil {
		return err
	}
	key := pairing{datastore, host}
	h.mounting.Lock()
	defer h.mounting.Unlock()
	was, ok := h.unmounts[key]
	if !ok {
		return nil
	}
	delete(h.unmounts, key)
	ctx.WithLock(on, func() {
		if was.of >= 0 && !slices.Contains(on.Datastore, datastore) {
			ctx.Update(on, []types.PropertyChange{vc.P("datastore", slices.Insert(slices.Clone(on.Datastore), min(was.of, len(on.Datastore)), datastore))})
		}
	})
	ctx.WithLock(ds, func() {
		if !slices.ContainsFunc(ds.Host, func(m types.DatastoreHostMount) bool { return m.Key == host }) {
			h.showMounts(ctx, ds, slices.Insert(slices.Clone(ds.Host), min(was.atDS, len(ds.Host)), was.mount))
		}
	})
	vc.Post(ctx, &types.DatastoreDiscoveredEvent{HostEvent: vc.HostEvent(ctx, on, "Discovered datastore %s on %s", ds.Name, on.Name), Datastore: *vc.DatastoreArgument(ds)})
	h.remounted(ds, h.log(event.Object{Kind: "Datastore", Name: ds.Name}, ds.Self, event.Info, "datastore.mounted", 0, "mounted by host "+on.Name+" again"))
	return nil
}

// showMounts sets the mounts of the datastore, whose lock is held, and what depends on them.
func (h *Hosts) showMounts(ctx *simulator.Context, ds *simulator.Datastore, mounts []types.DatastoreHostMount) {
	reached := slices.ContainsFunc(mounts, func(m types.DatastoreHostMount) bool {
		return m.MountInfo.Accessible == nil || *m.MountInfo.Accessible
	})
	changes := []types.PropertyChange{vc.P("host", mounts)}
	if ds.Summary.Accessible != reached {
		status := types.ManagedEntityStatusGreen
		if !reached {
			status = types.ManagedEntityStatusRed
		}
		changes = append(changes, vc.P("summary.accessible", reached), vc.P("overallStatus", status))
	}
	if many := len(mounts) > 1; ds.Summary.MultipleHostAccess != nil && *ds.Summary.MultipleHostAccess != many {
		summary := ds.Summary // vcsim cannot write through a pointer
		summary.Accessible, summary.MultipleHostAccess = reached, new(many)
		changes = append(changes, vc.P("summary", summary))
	}
	ctx.Update(ds, changes)
}

// remounted updates what depends on a datastore's mounts.
func (h *Hosts) remounted(ds *simulator.Datastore, cause uint64) {
	ctx := vc.Fresh(h.base)
	var vms []vc.Ref
	ctx.WithLock(ds, func() { vms = slices.Clone(ds.Vm) })
	for _, vm := range vms {
		h.settle(vm, cause)
	}
	h.watcher.shout()
}

func (h *Hosts) mountable(parent context.Context, datastore, host vc.Ref) (*simulator.Context, *simulator.Datastore, *simulator.HostSystem, error) {
	if err := parent.Err(); err != nil {
		return nil, nil, nil, err
	}
	ctx := vc.Fresh(h.base)
	ds, ok := ctx.Map.Get(datastore).(*simulator.Datastore)
	if !ok {
		return nil, nil, nil, fmt.Errorf("datastore %s: no such datastore", datastore.Value)
	}
	on, ok := ctx.Map.Get(host).(*simulator.HostSystem)
	if !ok {
		return nil, nil, nil, fmt.Errorf("host %s: no such host", host.Value)
	}
	return ctx, ds, on, nil
}
