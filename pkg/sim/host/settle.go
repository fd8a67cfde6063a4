package host

import (
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// settle sets the connection state of the VM that follows from its host and its datastore. Concurrent calls are safe, because
// each reads the inputs under the VM's lock.
func (h *Hosts) settle(ref vc.Ref, cause uint64) {
	ctx := vc.Fresh(h.base)
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return
	}
	ctx.WithLock(vm, func() {
		if ctx.Map.Get(ref) != nil {
			h.settleLocked(ctx, vm, cause)
		}
	})
}

// settleLocked is settle with the VM's lock held.
func (h *Hosts) settleLocked(ctx *simulator.Context, vm *simulator.VirtualMachine, cause uint64) {
	from, to := vm.Runtime.ConnectionState, h.connection(ctx, vm)
	if from == "" {
		from = types.VirtualMachineConnectionStateConnected
	}
	if from == to {
		return
	}
	changes := []types.PropertyChange{vc.P("runtime.connectionState", to), vc.P("summary.runtime.connectionState", to)}
	status := types.ManagedEntityStatusGreen
	if to != types.VirtualMachineConnectionStateConnected {
		status = types.ManagedEntityStatusGray
	}
	changes = append(changes, vc.P("overallStatus", status), vc.P("summary.overallStatus", status))
	ctx.Update(vm, changes)

	level, where := event.Warning, "its host"
	switch to {
	case types.VirtualMachineConnectionStateConnected:
		level = event.Info
		vc.Post(ctx, &types.VmConnectedEvent{VmEvent: vmEvent(ctx, vm, "Virtual machine %s is connected", vm.Name)})
	case types.VirtualMachineConnectionStateDisconnected:
		e := vmEvent(ctx, vm, "")
		where = "host " + nameOf(e.Host)
		e.FullFormattedMessage = vm.Name + " on host " + nameOf(e.Host) + " is disconnected"
		vc.Post(ctx, &types.VmDisconnectedEvent{VmEvent: e})
	case types.VirtualMachineConnectionStateOrphaned:
		e := vmEvent(ctx, vm, "")
		e.FullFormattedMessage = vm.Name + " does not exist on host " + nameOf(e.Host)
		vc.Post(ctx, &types.VmOrphanedEvent{VmEvent: e})
	case types.VirtualMachineConnectionStateInaccessible:
		where = "its datastore"
	default:
	}
	message := "vCenter sees it again"
	if level != event.Info {
		message = string(to) + ": vCenter cannot see it through " + where
	}
	h.log(event.Object{Kind: "VM", Name: vm.Name}, vm.Self, level, "vm."+string(to), cause, message)
}

// connection returns the state that follows from what the VM needs. The caller holds its lock.
func (h *Hosts) connection(ctx *simulator.Context, vm *simulator.VirtualMachine) types.VirtualMachineConnectionState {
	if vm.Runtime.Host == nil {
		return types.VirtualMachineConnectionStateConnected
	}
	host := *vm.Runtime.Host
	h.mu.Lock()
	hidden := h.hidden[vm.Self]
	h.mu.Unlock()
	switch {
	case h.condition(host).fault() != nil:
		return types.VirtualMachineConnectionStateDisconnected
	case hidden != "":
		return hidden
	case !reachesHome(ctx, vm, host):
		return types.VirtualMachineConnectionStateInaccessible
	}
	return types.VirtualMachineConnectionStateConnected
}

// reachesHome reports whether the host can read the datastore of the VM's configuration. Other datastores may be lost: their
// disks are missing then, but the VM is accessible.
func reachesHome(ctx *simulator.Context, vm *simulator.VirtualMachine, host vc.Ref) bool {
	var home object.DatastorePath
	if vm.Config == nil || !home.FromString(vm.Config.Files.VmPathName) {
		return true
	}
	for _, ref := range vm.Datastore {
		ds, ok := ctx.Map.Get(ref).(*simulator.Datastore)
		if ok && ds.Name == home.Datastore {
			return reaches(ctx, ds, host)
		}
	}
	return true
}

// reaches reports whether the host mounts the datastore and can read it.
func reaches(ctx *simulator.Context, ds *simulator.Datastore, host vc.Ref) (ok bool) {
	ctx.WithLock(ds, func() {
		ok = slices.ContainsFunc(ds.Host, func(m types.DatastoreHostMount) bool {
			return m.Key == host && (m.MountInfo.Accessible == nil || *m.MountInfo.Accessible)
		})
	})
	return ok
}
