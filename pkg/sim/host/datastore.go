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

// LoseDatastore takes the datastore away from the hosts, from all when none is named: all paths to it are down. VMs whose
// configuration is on it become inaccessible; those that are on run on. Losing it again is harmless.
func (h *Hosts) LoseDatastore(ctx context.Context, ref types.ManagedObjectReference, hosts ...types.ManagedObjectReference) error {
	return h.mount(ctx, ref, hosts, false)
}

// RestoreDatastore gives the datastore back to the hosts, to all when none is named.
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
	seq := h.tellMount(ctx, ds, len(hosts), accessible)
	for _, vm := range vms {
		h.settle(vm, seq)
	}
	h.watcher.shout()
	return nil
}

// tellMount writes the event of a datastore, in the vCenter and in our log.
func (h *Hosts) tellMount(ctx *simulator.Context, ds *simulator.Datastore, hosts int, accessible bool) uint64 {
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
			Datacenter:           datacenter(ctx, ds.Self),
			Ds:                   &types.DatastoreEventArgument{EntityEventArgument: types.EntityEventArgument{Name: ds.Name}, Datastore: ds.Self},
		},
		EventTypeId: id, Severity: string(severity), ObjectId: ds.Self.Value, ObjectType: ds.Self.Type, ObjectName: ds.Name,
	})
	return h.log(event.Object{Kind: "Datastore", Name: ds.Name}, ds.Self, level, kind, 0, message)
}

// Fill leaves no space on the datastore: calls that would need some end in NoDiskSpace. Filling it again is harmless.
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

// Free ends [Hosts.Fill]: what was free then is free again. For a datastore that is not full it does nothing.
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
			free(ctx, ds, was+ds.Summary.FreeSpace) // what was deleted meanwhile counts
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

// free writes the free space of a datastore whose lock is held, in bytes.
func free(ctx *simulator.Context, ds *simulator.Datastore, bytes int64) {
	changes := []types.PropertyChange{vc.P("summary.freeSpace", bytes)}
	if info := copyInfo(ds.Info); info != nil {
		info.GetDatastoreInfo().FreeSpace = bytes
		changes = append(changes, vc.P("info", info))
	}
	ctx.Update(ds, changes)
}

// copyInfo copies the details of a datastore, nil for those of a kind that is not made here.
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

// noSpace is the fault of a call that needs space on the datastore, nil when it has some.
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

// noSpaceAt is [Hosts.noSpace] of the datastore that a path ("[datastore] file") is on, in the datacenter of an object: other
// datacenters may have one of that name. Nil: in any.
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

// pairing is a datastore and a host.
type pairing struct{ datastore, host vc.Ref }

// unmounted is how a host mounted a datastore, for the way back.
type unmounted struct {
	mount    types.DatastoreHostMount
	of, atDS int // places in the lists of the host and of the datastore
}

// Unmount removes the datastore from the host: neither has the other in its lists any more. VMs there whose configuration
// is on it become inaccessible. Doing it again is harmless.
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
	vc.Post(ctx, &types.DatastoreRemovedOnHostEvent{HostEvent: Event(ctx, on, "Removed datastore %s from %s", ds.Name, on.Name), Datastore: datastoreArgument(ds)})
	h.remounted(ds, h.log(event.Object{Kind: "Datastore", Name: ds.Name}, ds.Self, event.Warning, "datastore.unmounted", 0, "removed from host "+on.Name))
	return nil
}

// Mount ends [Hosts.Unmount], with everything in its old place; for a datastore that the host mounts it does nothing.
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
	vc.Post(ctx, &types.DatastoreDiscoveredEvent{HostEvent: Event(ctx, on, "Discovered datastore %s on %s", ds.Name, on.Name), Datastore: datastoreArgument(ds)})
	h.remounted(ds, h.log(event.Object{Kind: "Datastore", Name: ds.Name}, ds.Self, event.Info, "datastore.mounted", 0, "mounted by host "+on.Name+" again"))
	return nil
}

// showMounts writes the mounts of the datastore, whose lock is held, and what follows from them.
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

// remounted lets follow what follows from a datastore's mounts.
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

func datastoreArgument(ds *simulator.Datastore) types.DatastoreEventArgument {
	return types.DatastoreEventArgument{EntityEventArgument: types.EntityEventArgument{Name: ds.Name}, Datastore: ds.Self}
}
