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
