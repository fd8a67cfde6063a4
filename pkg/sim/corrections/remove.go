package corrections

import (
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// remove removes the object and its contents. The contents may have changed since check.
func (r remover) remove(ref vc.Ref) types.BaseMethodFault {
	switch o := r.ctx.Map.Get(ref).(type) {
	case nil:
		return nil
	case *simulator.VirtualMachine:
		return r.destroy(o)
	case *simulator.Folder:
		if fault := r.empty(o); fault != nil {
			return fault
		}
		r.child(o.Parent, ref)
	case *simulator.Datacenter:
		for _, folder := range []vc.Ref{o.VmFolder, o.HostFolder, o.NetworkFolder, o.DatastoreFolder} {
			if f, ok := r.ctx.Map.Get(folder).(*simulator.Folder); ok {
				if fault := r.empty(f); fault != nil {
					return fault
				}
				r.ctx.Map.Remove(r.ctx, folder)
			}
		}
		r.child(o.Parent, ref)
	case *simulator.HostSystem:
		return r.host(o)
	case *simulator.ResourcePool:
		r.pool(o)
	case *simulator.VirtualApp:
		// Pools first: their contents move up.
		for _, below := range []func() []vc.Ref{func() []vc.Ref { return pools(o) }, func() []vc.Ref { return o.Vm }} {
			if fault := r.removeAll(r.list(o, below)); fault != nil {
				return fault
			}
		}
		r.unpool(o.Parent, ref)
	case *simulator.Datastore:
		r.datastore(o)
	case *simulator.DistributedVirtualSwitch:
		if fault := r.removeAll(r.list(o, func() []vc.Ref { return o.Portgroup })); fault != nil {
			return fault
		}
		vc.Post(r.ctx, &types.DvsDestroyedEvent{DvsEvent: types.DvsEvent{Event: r.event(ref, types.Event{
			Dvs: &types.DvsEventArgument{EntityEventArgument: vc.Named(o.Name), Dvs: ref},
		})}})
		r.network(ref, o.Parent)
	case *simulator.DistributedVirtualPortgroup:
		if s := o.Config.DistributedVirtualSwitch; s != nil {
			r.edit(*s, "portgroup", func(obj mo.Reference) []vc.Ref { return obj.(*simulator.DistributedVirtualSwitch).Portgroup }, ref)
		}
		vc.Post(r.ctx, &types.DVPortgroupDestroyedEvent{DVPortgroupEvent: types.DVPortgroupEvent{Event: r.event(ref, types.Event{
			Net: &types.NetworkEventArgument{EntityEventArgument: vc.Named(o.Name), Network: ref},
		})}})
		r.network(ref, o.Parent)
	default:
		if compute, ok := vc.Compute(o); ok {
			return r.compute(compute)
		}
		if e, ok := o.(mo.Entity); ok {
			r.network(ref, e.Entity().Parent)
		}
	}
	return nil
}

func (r remover) removeAll(refs []vc.Ref) types.BaseMethodFault {
	for _, ref := range refs {
		if fault := r.remove(ref); fault != nil {
			return fault
		}
	}
	return nil
}

// empty removes the contents of a folder, and prevents additions by concurrent calls.
func (r remover) empty(f *simulator.Folder) types.BaseMethodFault {
	for {
		var children []vc.Ref
		r.ctx.WithLock(f, func() {
			if children = slices.Clone(f.ChildEntity); len(children) == 0 {
				f.ChildType = nil
			}
		})
		if len(children) == 0 {
			return nil
		}
		if fault := r.removeAll(children); fault != nil {
			return fault
		}
		// What does not exist any more is removed from the list, too.
		r.ctx.WithLock(f, func() {
			f.ChildEntity = slices.DeleteFunc(f.ChildEntity, func(ref vc.Ref) bool { return r.ctx.Map.Get(ref) == nil })
		})
	}
}

// destroy destroys a VM as its own Destroy_Task does.
func (r remover) destroy(vm *simulator.VirtualMachine) types.BaseMethodFault {
	var task vc.Ref
	r.ctx.WithLock(vm, func() {
		detachFirstClass(r.ctx, vm, r.before)
		task = vm.DestroyTask(r.ctx, &types.Destroy_Task{This: vm.Self}).(*methods.Destroy_TaskBody).Res.Returnval
	})
	defer r.traffic.settle()
	return outcome(r.ctx, task)
}

// host removes a host from the inventory, with its VMs: they still run on it, outside of this vCenter.
func (r remover) host(h *simulator.HostSystem) types.BaseMethodFault {
	if h.Parent != nil && h.Parent.Type == "ComputeResource" {
		return r.remove(*h.Parent) // a standalone host and its compute resource are one
	}
	if fault := r.leave(h); fault != nil {
		return fault
	}
	if h.Parent != nil {
		r.edit(*h.Parent, "host", func(obj mo.Reference) []vc.Ref { return computeOf(obj).Host }, h.Self)
		r.shrink(*h.Parent)
	}
	r.ctx.Map.Remove(r.ctx, h.Self)
	return nil
}

// leave removes VMs, datastores, networks and switches from a host.
func (r remover) leave(h *simulator.HostSystem) types.BaseMethodFault {
	for _, ref := range r.list(h, func() []vc.Ref { return h.Vm }) {
		if vm, ok := r.ctx.Map.Get(ref).(*simulator.VirtualMachine); ok {
			r.unregister(vm)
		}
	}
	for _, ref := range r.list(h, func() []vc.Ref { return h.Datastore }) {
		r.unmount(ref, h.Self)
	}
	for _, ref := range r.list(h, func() []vc.Ref { return h.Network }) {
		r.edit(ref, "host", networkHosts, h.Self)
	}
	vc.Post(r.ctx, &types.HostRemovedEvent{HostEvent: types.HostEvent{Event: r.event(h.Self, types.Event{
		FullFormattedMessage: "Removed host " + h.Name, Host: vc.HostArgument(h),
	})}})
	return nil
}

// compute removes a cluster or standalone host with pools and hosts.
func (r remover) compute(c *mo.ComputeResource) types.BaseMethodFault {
	obj := r.ctx.Map.Get(c.Self)
	for _, ref := range r.list(obj, func() []vc.Ref { return c.Host }) {
		if h, ok := r.ctx.Map.Get(ref).(*simulator.HostSystem); ok {
			if fault := r.leave(h); fault != nil {
				return fault
			}
			r.ctx.Map.Remove(r.ctx, ref)
		}
	}
	if c.ResourcePool != nil {
		r.drain(*c.ResourcePool)
	}
	r.child(c.Parent, c.Self)
	return nil
}

// drain removes a pool and the pools below it; their VMs are gone.
func (r remover) drain(ref vc.Ref) {
	pool := r.ctx.Map.Get(ref)
	if pool == nil {
		return
	}
	for _, child := range r.list(pool, func() []vc.Ref { return pools(pool) }) {
		r.drain(child)
	}
	r.ctx.Map.Remove(r.ctx, ref)
}

// pool removes a resource pool; its contents move to its parent (API ResourcePool.Destroy_Task).
func (r remover) pool(p *simulator.ResourcePool) {
	parent := *p.Parent
	for _, ref := range r.list(p, func() []vc.Ref { return p.Vm }) {
		vc.Set(r.ctx, ref, vc.P("resourcePool", parent))
		relist(r.ctx, ref, p.Self, parent)
	}
	children := r.list(p, func() []vc.Ref { return p.ResourcePool.ResourcePool })
	for _, ref := range children {
		vc.Set(r.ctx, ref, vc.P("parent", parent))
	}
	if above := r.ctx.Map.Get(parent); above != nil {
		r.ctx.WithLock(above, func() {
			r.ctx.Update(above, []types.PropertyChange{vc.P("resourcePool", append(slices.Clone(pools(above)), children...))})
		})
	}
	r.unpool(p.Parent, p.Self)
}

func (r remover) unpool(parent *vc.Ref, ref vc.Ref) {
	if parent != nil {
		r.edit(*parent, "resourcePool", pools, ref)
	}
	r.ctx.Map.Remove(r.ctx, ref)
}

func (r remover) datastore(ds *simulator.Datastore) {
	var hosts []vc.Ref
	r.ctx.WithLock(ds, func() {
		for _, mount := range ds.Host {
			hosts = append(hosts, mount.Key)
		}
	})
	for _, host := range hosts {
		r.edit(host, "datastore", datastores, ds.Self)
		if h, ok := r.ctx.Map.Get(host).(*simulator.HostSystem); ok && h.Parent != nil {
			r.edit(*h.Parent, "datastore", datastores, ds.Self)
		}
	}
	if dc, ok := vc.Datacenter(r.ctx.Map, ds.Self); ok {
		r.edit(dc, "datastore", datastores, ds.Self)
	}
	r.child(ds.Parent, ds.Self)
}

// unmount removes a host from a datastore; the last one removes the datastore, too.
func (r remover) unmount(ref, host vc.Ref) {
	ds, ok := r.ctx.Map.Get(ref).(*simulator.Datastore)
	if !ok {
		return
	}
	left := 0
	r.ctx.WithLock(ds, func() {
		mounts := slices.DeleteFunc(slices.Clone(ds.Host), func(m types.DatastoreHostMount) bool { return m.Key == host })
		left = len(mounts)
		r.ctx.Update(ds, []types.PropertyChange{vc.P("host", mounts)})
	})
	if left == 0 {
		r.datastore(ds)
	}
}

// network removes a network or switch from hosts, compute resources and the datacenter.
func (r remover) network(ref vc.Ref, parent *vc.Ref) {
	for _, kind := range []string{"HostSystem", "ComputeResource", "ClusterComputeResource"} {
		for _, e := range r.ctx.Map.All(kind) {
			if slices.Contains(r.list(e, func() []vc.Ref { return networksOf(e) }), ref) {
				r.edit(e.Reference(), "network", networksOf, ref)
			}
		}
	}
	if dc, ok := vc.Datacenter(r.ctx.Map, ref); ok {
		r.edit(dc, "network", networksOf, ref)
	}
	r.child(parent, ref)
}

// child removes the object from its folder and from the inventory.
func (r remover) child(folder *vc.Ref, ref vc.Ref) {
	if r.ctx.Map.Get(ref) != nil {
		r.ctx.Map.Remove(r.ctx, ref)
	}
	if folder != nil {
		r.edit(*folder, "childEntity", children, ref)
	}
}

// unregister removes a VM from the inventory and leaves its files alone.
func (r remover) unregister(vm *simulator.VirtualMachine) {
	var lists []vc.Ref
	var event types.VmEvent
	r.ctx.WithLock(vm, func() {
		event = vc.VMEvent(r.ctx, vm, "Removed %s", vm.Name)
		lists = append(slices.Clone(vm.Datastore), *vm.Runtime.Host)
		if vm.ResourcePool != nil {
			lists = append(lists, *vm.ResourcePool)
		}
	})
	for _, ref := range lists {
		r.edit(ref, "vm", vms, vm.Self)
	}
	parent := vm.Parent
	r.ctx.WithLock(vm, func() { r.ctx.Map.Remove(r.ctx, vm.Self) }) // its guest may be about to report
	r.child(parent, vm.Self)
	vc.Post(r.ctx, &types.VmRemovedEvent{VmEvent: event})
}

// shrink updates the summary of a cluster after a change of its hosts.
func (r remover) shrink(ref vc.Ref) {
	obj := r.ctx.Map.Get(ref)
	compute, ok := vc.Compute(obj)
	if !ok {
		return
	}
	var cpu, memory, threads int64
	var cores, effective int32
	var effectiveCPU, effectiveMemory int64
	hosts := r.list(obj, func() []vc.Ref { return compute.Host })
	for _, host := range hosts {
		if h, ok := r.ctx.Map.Get(host).(*simulator.HostSystem); ok {
			r.ctx.WithLock(h, func() {
				if hw := h.Summary.Hardware; hw != nil {
					cores += int32(hw.NumCpuCores)
					threads += int64(hw.NumCpuThreads)
					cpu += int64(hw.NumCpuCores) * int64(hw.CpuMhz)
					memory += hw.MemorySize
					if h.Runtime.ConnectionState == types.HostSystemConnectionStateConnected && !h.Runtime.InMaintenanceMode {
						effective++
						effectiveCPU += int64(hw.NumCpuCores) * int64(hw.CpuMhz)
						effectiveMemory += hw.MemorySize
					}
				}
			})
		}
	}
	r.ctx.WithLock(obj, func() {
		// A copy: answers to clients may hold the old one.
		next := shallow(compute.Summary)
		s := next.GetComputeResourceSummary()
		s.NumHosts, s.NumEffectiveHosts = int32(len(hosts)), effective
		s.NumCpuCores, s.NumCpuThreads = int16(cores), int16(threads)
		s.TotalCpu, s.TotalMemory = int32(cpu), memory
		s.EffectiveCpu, s.EffectiveMemory = int32(effectiveCPU), effectiveMemory>>20
		r.ctx.Update(obj, []types.PropertyChange{vc.P("summary", next)})
	})
}

// edit removes a reference from a list of an object.
func (r remover) edit(ref vc.Ref, property string, list func(mo.Reference) []vc.Ref, gone vc.Ref) {
	edit(r.ctx, ref, property, list, func(l []vc.Ref) []vc.Ref { return vc.Without(l, gone) })
}

// event sets the datacenter of an object that is about to be removed.
func (r remover) event(ref vc.Ref, e types.Event) types.Event {
	e.Datacenter = vc.DatacenterArgument(r.ctx, ref)
	return e
}

// traffic separates removals from all other work: vcsim's tasks look up hosts, datastores and networks repeatedly, and panic if
// one was removed in between. So a removal waits until no task runs, and calls that would start one wait until it has ended; also
// those that arrive while it waits, or it would never start in a busy vCenter.
//
// Tasks on hosts do not count, because they are safe and may wait for hours for VMs to leave; neither do tasks of extensions and
// those that rules of the gate create.
type traffic struct {
	ref vc.Ref

	removal sync.Mutex // held by one removal at a time

	mu       sync.Mutex
	deleting map[vc.Ref]bool // tasks that delete files: a VM's continue for a short time after its own
	running  map[vc.Ref]bool // tasks, except removals and those that may take long
	changed  chan struct{}   // closed and replaced when no task runs any more or a removal ends
	open     bool            // no removal runs or waits
}

// patience limits the time that a removal waits for tasks.
const patience = 10 * time.Second

func newTraffic() *traffic {
	return &traffic{
		ref:      vc.Ref{Type: "SandboxTraffic", Value: "sandbox-traffic"},
		deleting: make(map[vc.Ref]bool),
		running:  make(map[vc.Ref]bool),
		changed:  make(chan struct{}),
		open:     true,
	}
}

// enter waits while a removal runs, and until the files that are being deleted are gone: a destroyed VM has none. The caller must
// hold no lock of an object.
func (t *traffic) enter() {
	t.await(func() bool { return t.open && len(t.deleting) == 0 }, func() bool { return t.open })
}

// settle waits until the files that are being deleted are gone.
func (t *traffic) settle() {
	t.await(func() bool { return len(t.deleting) == 0 }, func() bool { return true })
}

// await waits for done, for a limited time once bounded returns true: a hanging disk must not block everything. It calls both
// with t.mu held.
func (t *traffic) await(done, bounded func() bool) {
	var late <-chan time.Time
	for {
		t.mu.Lock()
		is, soon, changed := done(), bounded(), t.changed
		t.mu.Unlock()
		if is {
			return
		}
		if soon && late == nil {
			late = time.After(patience)
		}
		select {
		case <-changed:
		case <-late:
			return
		}
	}
}

// alone runs f while no task runs, and reports whether it did.
func (t *traffic) alone(f func()) bool {
	t.removal.Lock()
	defer t.removal.Unlock()
	t.mu.Lock()
	t.open = false
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.open = true
		t.broadcast()
	}()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		t.mu.Lock()
		quiet, changed := len(t.running) == 0, t.changed
		t.mu.Unlock()
		if quiet {
			f()
			return true
		}
		select {
		case <-changed:
		case <-deadline.C:
			return false
		}
	}
}

// broadcast wakes all waiters. The caller holds t.mu.
func (t *traffic) broadcast() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// Reference implements simulator.RegisterObject.
func (t *traffic) Reference() vc.Ref { return t.ref }

// PutObject implements simulator.RegisterObject: a task starts.
func (t *traffic) PutObject(ctx *simulator.Context, obj mo.Reference) {
	task, ok := obj.(*simulator.Task)
	if !ok || task.Execute == nil || task.Info.DescriptionId == removalID || task.Info.Entity == nil ||
		task.Info.Entity.Type == "HostSystem" || ctx.Map.Get(*task.Info.Entity) == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running[task.Self] = true
	if task.Info.DescriptionId == "FileManager.deleteDatastoreFile" {
		t.deleting[task.Self] = true
	}
}

// UpdateObject implements simulator.RegisterObject: a task ends.
func (t *traffic) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	task, ok := obj.(*mo.Task)
	if !ok || !ended(changes) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.running[task.Self] {
		return
	}
	delete(t.running, task.Self)
	if delete(t.deleting, task.Self); len(t.deleting) == 0 || len(t.running) == 0 {
		t.broadcast()
	}
}

// RemoveObject implements simulator.RegisterObject.
func (t *traffic) RemoveObject(*simulator.Context, vc.Ref) {}

// removalID is the description ID of a removal's task in vCenter.
const removalID = "ManagedEntity.destroy"
