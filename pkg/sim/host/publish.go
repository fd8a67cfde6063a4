package host

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// publish shows the host's condition to clients: on the host, on its VMs, in the sums of its compute resource. It is safe for
// concurrent use: values are read and written under the same lock.
func (h *Hosts) publish(ref vc.Ref, cause uint64) {
	ctx := vc.Fresh(h.base)
	host, ok := ctx.Map.Get(ref).(*simulator.HostSystem)
	if !ok {
		return
	}
	ctx.WithLock(host, func() {
		if changes := differences(host, h.condition(ref)); len(changes) > 0 {
			ctx.Update(host, changes)
		}
	})
	for _, vm := range vmsOf(ctx, host) {
		h.settle(vm, cause)
	}
	if host.Parent != nil {
		h.sum(*host.Parent)
	}
	h.watcher.shout()
}

// differences lists the properties that differ from the condition.
func differences(host *simulator.HostSystem, c condition) []types.PropertyChange {
	var changes []types.PropertyChange
	set := func(name string, value any) {
		changes = append(changes, vc.P(name, value), vc.P("summary."+name, value))
	}
	if s := c.connection(); host.Runtime.ConnectionState != s {
		set("runtime.connectionState", s)
	}
	if p := c.power(); host.Runtime.PowerState != p {
		set("runtime.powerState", p)
	}
	mode := c.mode
	mode = cmp.Or(mode, types.HostStandbyModeNone)
	if host.Runtime.StandbyMode != string(mode) {
		set("runtime.standbyMode", string(mode))
	}
	if host.Runtime.InMaintenanceMode != c.maintenance {
		set("runtime.inMaintenanceMode", c.maintenance)
	}
	if s := c.status(); host.OverallStatus != s || host.Summary.OverallStatus != s {
		changes = append(changes, vc.P("overallStatus", s), vc.P("summary.overallStatus", s))
	}
	return changes
}

// booted sets the boot time.
func (h *Hosts) booted(ref vc.Ref) {
	now := time.Now()
	vc.Set(vc.Fresh(h.base), ref, vc.P("runtime.bootTime", now), vc.P("summary.runtime.bootTime", now))
}

// vmsOf copies the host's list of VMs.
func vmsOf(ctx *simulator.Context, host *simulator.HostSystem) (vms []vc.Ref) {
	ctx.WithLock(host, func() { vms = slices.Clone(host.Vm) })
	return vms
}

// sum updates the effective resources of a compute resource: those of its usable hosts.
func (h *Hosts) sum(ref vc.Ref) {
	ctx := vc.Fresh(h.base)
	obj := ctx.Map.Get(ref)
	compute, ok := vc.Compute(obj)
	if !ok {
		return
	}
	h.summing.Lock()
	defer h.summing.Unlock()
	var hosts []vc.Ref
	ctx.WithLock(obj, func() { hosts = slices.Clone(compute.Host) })

	var effective, silent int32
	var mhz int32
	var bytes int64
	for _, ref := range hosts {
		host, ok := ctx.Map.Get(ref).(*simulator.HostSystem)
		if !ok {
			continue
		}
		c := h.condition(ref)
		if c.status() == types.ManagedEntityStatusRed {
			silent++
		}
		if c.fault() != nil || c.maintenance {
			continue
		}
		effective++
		ctx.WithLock(host, func() {
			if hw := host.Summary.Hardware; hw != nil {
				mhz += hw.CpuMhz * int32(hw.NumCpuCores)
				bytes += hw.MemorySize
			}
		})
	}
	status := types.ManagedEntityStatusGreen
	switch {
	case silent > 0 && effective == 0:
		status = types.ManagedEntityStatusRed
	case silent > 0:
		status = types.ManagedEntityStatusYellow
	}
	ctx.WithLock(obj, func() {
		next, s := copySummary(compute.Summary)
		if next == nil {
			return
		}
		was := *s
		s.NumHosts, s.NumEffectiveHosts = int32(len(hosts)), effective
		s.EffectiveCpu, s.EffectiveMemory = mhz, bytes>>20 // MHz and MB
		s.OverallStatus = status
		if *s == was && compute.OverallStatus == status {
			return
		}
		ctx.Update(obj, []types.PropertyChange{vc.P("summary", next), vc.P("overallStatus", status)})
	})
}

// copySummary copies the summary of a compute resource, and also returns its common part.
func copySummary(s types.BaseComputeResourceSummary) (types.BaseComputeResourceSummary, *types.ComputeResourceSummary) {
	switch s := s.(type) {
	case *types.ComputeResourceSummary:
		c := *s
		return &c, &c
	case *types.ClusterComputeResourceSummary:
		c := *s
		return &c, &c.ComputeResourceSummary
	}
	return nil, nil
}

// watcher wakes goroutines that wait for VMs to leave a host, or for the end of their task. vcsim calls it with the changing
// object locked, so it does nothing else.
type watcher struct {
	ref    vc.Ref
	adopt  func(mo.Reference)
	forget func(vc.Ref)

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change; nil while no caller waits
}

func newWatcher(adopt func(mo.Reference), forget func(vc.Ref)) *watcher {
	return &watcher{ref: vc.Ref{Type: "SandboxHostWatcher", Value: "sandbox-host-watcher"}, adopt: adopt, forget: forget}
}

// next returns a channel that is closed at the next change.
func (w *watcher) next() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	return w.changed
}

func (w *watcher) shout() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// Reference implements simulator.RegisterObject.
func (w *watcher) Reference() vc.Ref { return w.ref }

// PutObject implements simulator.RegisterObject.
func (w *watcher) PutObject(_ *simulator.Context, obj mo.Reference) {
	// vcsim puts a standalone host as disconnected and connects it later without an update: it is adopted then.
	if host, ok := obj.(*simulator.HostSystem); ok && host.Parent != nil && host.Parent.Type == "ClusterComputeResource" {
		w.adopt(host)
	}
}

// RemoveObject implements simulator.RegisterObject.
func (w *watcher) RemoveObject(_ *simulator.Context, ref vc.Ref) {
	switch ref.Type {
	case "VirtualMachine", "HostSystem", "Datastore":
		w.forget(ref)
		w.shout()
	}
}

// UpdateObject implements simulator.RegisterObject.
func (w *watcher) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	switch obj.(type) {
	case *mo.VirtualMachine, *mo.Task, *mo.Datastore:
	default:
		return
	}
	for _, c := range changes {
		switch c.Name {
		case "runtime.host", "runtime.powerState", "info.cancelled", "summary.accessible":
			w.shout()
			return
		}
	}
}

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
	from = cmp.Or(from, types.VirtualMachineConnectionStateConnected)
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
		vc.Post(ctx, &types.VmConnectedEvent{VmEvent: vc.VMEvent(ctx, vm, "Virtual machine %s is connected", vm.Name)})
	case types.VirtualMachineConnectionStateDisconnected:
		e := vc.VMEvent(ctx, vm, "")
		where = "host " + nameOf(e.Host)
		e.FullFormattedMessage = vm.Name + " on host " + nameOf(e.Host) + " is disconnected"
		vc.Post(ctx, &types.VmDisconnectedEvent{VmEvent: e})
	case types.VirtualMachineConnectionStateOrphaned:
		e := vc.VMEvent(ctx, vm, "")
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
