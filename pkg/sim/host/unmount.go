package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

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
