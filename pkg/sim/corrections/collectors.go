package corrections

import (
	"reflect"
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// collectors tracks the sessions of history collectors. vcsim allows 32 in total, and keeps those of ended sessions: a vCenter
// whose clients do not destroy them soon refuses new ones.
type collectors struct {
	mu       sync.Mutex
	sessions map[string]*simulator.Session
}

// note records the session of a call that creates a collector.
func (c *collectors) note(ctx *simulator.Context, method *simulator.Method) {
	switch method.Name {
	case "CreateCollectorForEvents", "CreateCollectorForTasks":
	default:
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions == nil {
		c.sessions = make(map[string]*simulator.Session)
	}
	c.sessions[ctx.Session.Key] = ctx.Session
}

// EndSession destroys the history collectors of an ended session.
func (c *Corrections) EndSession(base *simulator.Context, key string) {
	c.collectors.mu.Lock()
	session := c.collectors.sessions[key]
	delete(c.collectors.sessions, key)
	c.collectors.mu.Unlock()
	if session == nil {
		return
	}
	ctx := vc.Fresh(base)
	ctx.Session = session
	for _, kind := range []string{eventCollector, "TaskHistoryCollector"} {
		for _, obj := range session.AllReference(kind) {
			if h, ok := obj.(historyCollector); ok {
				ctx.WithLock(ctx.Map.EventManager(), func() { h.DestroyCollector(ctx, &types.DestroyCollector{This: obj.Reference()}) })
			}
		}
	}
}

// eventCollector is the type of event collectors.
const eventCollector = "EventHistoryCollector"

// historyCollector is a history collector of vcsim.
type historyCollector interface {
	mo.Reference
	DestroyCollector(ctx *simulator.Context, req *types.DestroyCollector) soap.HasFault
	SetCollectorPageSize(ctx *simulator.Context, req *types.SetCollectorPageSize) soap.HasFault
}

// Redirect implements [redirect.Receiver], and also redirects calls on event collectors, which belong to sessions. In vcsim such
// a call locks only the collector, while the event manager iterates over all collectors for every event, and creates the history
// of a collector: destroying a collector at that moment ends the process.
func (c *Corrections) Redirect(ctx *simulator.Context, method *simulator.Method) bool {
	if method.This.Type != eventCollector || !slices.Contains([]string{"DestroyCollector", "SetCollectorPageSize"}, method.Name) {
		return c.Receiver.Redirect(ctx, method)
	}
	if ctx.Session == nil || ctx.Session.Get(method.This) == nil {
		return false // vcsim returns the error
	}
	method.This = c.Self
	return true
}

// DestroyCollector destroys an event collector, with the event manager locked.
func (c *Corrections) DestroyCollector(ctx *simulator.Context, req *types.DestroyCollector) soap.HasFault {
	h, ok := ctx.Session.Get(req.This).(historyCollector)
	if !ok {
		return &methods.DestroyCollectorBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	var body soap.HasFault
	ctx.WithLock(ctx.Map.EventManager(), func() { body = h.DestroyCollector(ctx, req) })
	return body
}

// SetCollectorPageSize refills the page of an event collector, with the event manager locked.
func (c *Corrections) SetCollectorPageSize(ctx *simulator.Context, req *types.SetCollectorPageSize) soap.HasFault {
	h, ok := ctx.Session.Get(req.This).(historyCollector)
	if !ok {
		return &methods.SetCollectorPageSizeBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})}
	}
	var body soap.HasFault
	ctx.WithLock(ctx.Map.EventManager(), func() { ctx.WithLock(h, func() { body = h.SetCollectorPageSize(ctx, req) }) })
	return body
}

// Accessors for lists of references, for edit.

func children(obj mo.Reference) []vc.Ref {
	if f, ok := obj.(*simulator.Folder); ok {
		return f.ChildEntity
	}
	return nil
}

func pools(obj mo.Reference) []vc.Ref {
	switch o := obj.(type) {
	case *simulator.ResourcePool:
		return o.ResourcePool.ResourcePool
	case *simulator.VirtualApp:
		return o.ResourcePool.ResourcePool
	}
	return nil
}

func datastores(obj mo.Reference) []vc.Ref {
	switch o := obj.(type) {
	case *simulator.HostSystem:
		return o.Datastore
	case *simulator.Datacenter:
		return o.Datastore
	}
	return computeOf(obj).Datastore
}

func networksOf(obj mo.Reference) []vc.Ref {
	switch o := obj.(type) {
	case *simulator.HostSystem:
		return o.Network
	case *simulator.Datacenter:
		return o.Network
	}
	return computeOf(obj).Network
}

// networkHosts returns the list of hosts of a network or port group.
func networkHosts(obj mo.Reference) []vc.Ref {
	switch o := obj.(type) {
	case *mo.Network:
		return o.Host
	case *simulator.DistributedVirtualPortgroup:
		return o.Host
	}
	return nil
}

// computeOf returns the common part of clusters and standalone hosts, or nil.
func computeOf(obj mo.Reference) *mo.ComputeResource {
	if c, ok := vc.Compute(obj); ok {
		return c
	}
	return new(mo.ComputeResource)
}

// vms returns the list of VMs of a host, resource pool or datastore.
func vms(obj mo.Reference) []vc.Ref {
	switch o := obj.(type) {
	case *simulator.HostSystem:
		return o.Vm
	case *simulator.ResourcePool:
		return o.Vm
	case *simulator.VirtualApp:
		return o.Vm
	case *simulator.Datastore:
		return o.Vm
	}
	return nil
}

// relist moves the VM from one object's list to another's, locking one after the other.
func relist(ctx *simulator.Context, vm, from, to vc.Ref) {
	if from == to {
		return
	}
	edit(ctx, from, "vm", vms, func(l []vc.Ref) []vc.Ref { return vc.Without(l, vm) })
	edit(ctx, to, "vm", vms, func(l []vc.Ref) []vc.Ref { return append(vc.Without(l, vm), vm) })
}

// edit replaces a list of references with a changed copy.
func edit(ctx *simulator.Context, ref vc.Ref, property string, list func(mo.Reference) []vc.Ref, change func([]vc.Ref) []vc.Ref) {
	obj := ctx.Map.Get(ref)
	if obj == nil {
		return
	}
	ctx.WithLock(obj, func() {
		ctx.Update(obj, []types.PropertyChange{vc.P(property, change(slices.Clone(list(obj))))})
	})
}

// moveFolder moves the VM, whose lock is held, to another folder. It registers the VM again, as vcsim does, so that views are
// updated.
func moveFolder(ctx *simulator.Context, vm *simulator.VirtualMachine, to vc.Ref) {
	if vm.Parent != nil {
		edit(ctx, *vm.Parent, "childEntity", children, func(l []vc.Ref) []vc.Ref { return vc.Without(l, vm.Self) })
	}
	edit(ctx, to, "childEntity", children, func(l []vc.Ref) []vc.Ref { return append(vc.Without(l, vm.Self), vm.Self) })
	ctx.Update(vm, []types.PropertyChange{vc.P("parent", to)})
	ctx.Map.Put(vm)
}

// reconnect connects the VM's NICs to other networks.
func reconnect(ctx *simulator.Context, vm *simulator.VirtualMachine, to map[vc.Ref]vc.Ref) []types.PropertyChange {
	devices := copyDevices(vm.Config.Hardware.Device)
	var refs []vc.Ref
	for _, d := range devices {
		from, ok := vc.NetworkOf(d)
		if !ok {
			continue
		}
		ref := to[from]
		switch b := d.GetVirtualDevice().Backing.(type) {
		case *types.VirtualEthernetCardNetworkBackingInfo:
			b.Network = &ref
		case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
			b.Port.PortgroupKey = ref.Value
			if pg, ok := ctx.Map.Get(ref).(*simulator.DistributedVirtualPortgroup); ok && pg.Config.DistributedVirtualSwitch != nil {
				if s, ok := ctx.Map.Get(*pg.Config.DistributedVirtualSwitch).(*simulator.DistributedVirtualSwitch); ok {
					b.Port.SwitchUuid = s.Uuid
				}
			}
		}
		if !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return []types.PropertyChange{vc.P("config.hardware.device", devices), vc.P("network", refs)}
}

// copyDevices copies devices with their backings. Answers to clients may hold the old ones, so changes need a copy.
func copyDevices(devices []types.BaseVirtualDevice) []types.BaseVirtualDevice {
	copies := make([]types.BaseVirtualDevice, len(devices))
	for i, d := range devices {
		copies[i] = shallow(d)
		if v := copies[i].GetVirtualDevice(); v.Backing != nil {
			v.Backing = shallow(v.Backing)
		}
	}
	return copies
}

// shallow copies what the interface value x points to.
func shallow[T any](x T) T {
	v := reflect.ValueOf(x)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return x
	}
	c := reflect.New(v.Type().Elem())
	c.Elem().Set(v.Elem())
	return c.Interface().(T)
}
