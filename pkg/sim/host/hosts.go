package host

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/redirect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// Options configures [Install].
type Options struct {
	// VCenter is the name of the vCenter in events.
	VCenter string
	// Events receives the events of hosts. Nil: none.
	Events *event.Log
	// Boot is the duration of a boot, after a reboot and out of standby.
	Boot time.Duration
	// Causing, if set, is called with the event that causes what happens to a VM, until release is called.
	Causing func(vm types.ManagedObjectReference, seq uint64) (release func())
	// Locked, if set, reports whether another VM holds the file of a disk that will be added to a VM.
	Locked func(vm types.ManagedObjectReference, disk *types.VirtualDisk) bool
	// Stock disables the corrections of calls on hosts and of VM placement that stock.Hosts names. Go methods work anyway.
	Stock stock.Set
}

// self is the reference under which the hosts of a vCenter are registered.
func self() vc.Ref { return vc.Ref{Type: "SandboxHosts", Value: "sandbox-hosts"} }

// Admission decides whether a VM may be powered on; nil means yes. It is called without locks of vcsim.
type Admission func(vm types.ManagedObjectReference) types.BaseMethodFault

// Hosts answers the calls on the hosts of one vCenter. Create one with [Install]. Its methods are safe for concurrent use;
// callers must hold no lock of vcsim.
type Hosts struct {
	redirect.Receiver

	base     *simulator.Context
	opts     Options
	admit    Admission
	died     []func(host vc.Ref, seq uint64)
	watcher  *watcher
	starting sync.RWMutex // held for writing while the placement of running VMs must not change; before every object lock
	summing  sync.Mutex   // one sum of a compute resource at a time; before every object lock
	storage  *storage

	mounting sync.Mutex // guards what follows; before every object lock
	unmounts map[pairing]unmounted

	mu      sync.Mutex // guards what follows; after every object lock
	hosts   map[vc.Ref]*condition
	hidden  map[vc.Ref]types.VirtualMachineConnectionState // hidden VMs on reachable hosts
	full    map[vc.Ref]int64                               // full datastores, with their previous free space
	refused map[vc.Ref]refusal
	deaths  []func(vm vc.Ref, seq uint64)
	causes  map[vc.Ref]uint64
	closed  bool

	stop chan struct{}
	work sync.WaitGroup
}

// Install takes over the calls on hosts in the vCenter of base, which must not serve yet. For every call, [Hosts.Check] and then
// [Hosts.Redirect] must be called first. Call Close to end it.
func Install(base *simulator.Context, opts Options) *Hosts {
	h := &Hosts{
		base:     base,
		opts:     opts,
		hosts:    make(map[vc.Ref]*condition),
		hidden:   make(map[vc.Ref]types.VirtualMachineConnectionState),
		causes:   make(map[vc.Ref]uint64),
		full:     make(map[vc.Ref]int64),
		refused:  make(map[vc.Ref]refusal),
		unmounts: make(map[pairing]unmounted),
		stop:     make(chan struct{}),
	}
	h.Self = self()
	h.storage = newStorage(h)
	if !opts.Stock.Has(stock.Hosts) {
		h.Methods = map[string][]string{
			"HostSystem": {
				"DisconnectHost_Task", "ReconnectHost_Task", "EnterMaintenanceMode_Task", "ExitMaintenanceMode_Task",
				"ShutdownHost_Task", "RebootHost_Task", "PowerDownHostToStandBy_Task", "PowerUpHostFromStandBy_Task",
			},
			"VirtualMachine": {"PowerOnVM_Task"},
			"Datacenter":     {"PowerOnMultiVM_Task"},
			"Datastore":      {"DatastoreEnterMaintenanceMode", "DatastoreExitMaintenanceMode_Task"},
		}
	}
	h.watcher = newWatcher(h.adopt, h.forget)
	base.Map.Put(h)
	base.Map.Put(h.storage)
	base.Map.AddHandler(h.watcher)
	for _, e := range base.Map.All("HostSystem") {
		h.adopt(e)
		if host, ok := e.(*simulator.HostSystem); ok && h.Methods != nil {
			host.Summary.OverallStatus = host.OverallStatus                                                // vcsim's is gray
			host.Runtime.StandbyMode = cmp.Or(host.Runtime.StandbyMode, string(types.HostStandbyModeNone)) // a vCenter always sets it
		}
	}
	return h
}

// Redirect takes over the calls that the package implements, and reports whether it did.
func (h *Hosts) Redirect(ctx *simulator.Context, method *simulator.Method) bool {
	return h.storage.redirect(ctx, method) || h.Receiver.Redirect(ctx, method)
}

// Admit sets the decision about power-ons, before the vCenter serves. It makes power-ons sequential, so that a can count.
func (h *Hosts) Admit(a Admission) { h.admit = a }

// Died calls f with every host whose VMs have died with it, and with the event that reports it: the vCenter cannot see that. Call
// it before the vCenter serves. f runs without locks on the goroutine that ended the host, before that returns. It may be called
// several times.
func (h *Hosts) Died(f func(host types.ManagedObjectReference, seq uint64)) {
	h.died = append(h.died, f)
}

// OnDeath calls f with every VM that dies with its host, and with the event that reports it, after the funcs of [Hosts.Died]. It
// may be called at any time.
func (h *Hosts) OnDeath(f func(vm types.ManagedObjectReference, seq uint64)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deaths = append(slices.Clone(h.deaths), f)
}

// Close ends waiting tasks and boots, and waits for them. Closing again is harmless.
func (h *Hosts) Close() {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		close(h.stop)
	}
	h.mu.Unlock()
	h.base.Map.RemoveHandler(h.watcher)
	h.work.Wait()
}

// begin registers work that Close waits for; false once Close was called.
func (h *Hosts) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.work.Add(1)
	return true
}

// adopt registers a new host.
func (h *Hosts) adopt(obj mo.Reference) {
	host, ok := obj.(*simulator.HostSystem)
	if !ok {
		return
	}
	c := condition{maintenance: host.Runtime.InMaintenanceMode}
	switch host.Runtime.ConnectionState {
	case types.HostSystemConnectionStateDisconnected:
		c.disconnected = true
	case types.HostSystemConnectionStateNotResponding:
		c.state = crashed
	default:
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hosts[host.Self] == nil {
		h.hosts[host.Self] = &c
	}
}

// forget drops the state of a removed object.
func (h *Hosts) forget(ref vc.Ref) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.hosts, ref)
	delete(h.hidden, ref)
	delete(h.full, ref)
	delete(h.refused, ref)
	delete(h.causes, ref)
}

// task runs f as a task on the host, whose lock is not held, so that VMs can leave it and clients can read it.
func (h *Hosts) task(ctx *simulator.Context, ref vc.Ref, method, id string, f func(*simulator.HostSystem, *simulator.Task) types.BaseMethodFault) vc.Ref {
	if host, ok := ctx.Map.Get(ref).(*simulator.HostSystem); ok {
		ctx.WithLock(host, func() { h.adopt(host) })
	}
	t := simulator.CreateTask(ref, id, func(t *simulator.Task) (types.AnyType, types.BaseMethodFault) {
		host, ok := ctx.Map.Get(ref).(*simulator.HostSystem)
		if !ok {
			return nil, &types.ManagedObjectNotFound{Obj: ref}
		}
		if !h.begin() {
			return nil, new(types.RequestCanceled)
		}
		defer h.work.Done()
		return nil, f(host, t)
	})
	t.Info.Name = strings.TrimSuffix(method, "_Task") + "_Task"
	t.Info.Cancelable = cancelable[id]
	return vc.Run(ctx, t)
}

// cancelable are the tasks that wait for VMs to leave.
var cancelable = map[string]bool{"enterMaintenanceMode": true, "powerDownToStandBy": true}

// canceled reports whether a client canceled the task.
func canceled(ctx *simulator.Context, t *simulator.Task) (yes bool) {
	ctx.WithLock(t, func() { yes = t.Info.Cancelled })
	return yes
}

func nameOf(host *types.HostEventArgument) string {
	if host == nil {
		return ""
	}
	return host.Name
}

// placeOf returns the datacenter of an event.
func placeOf(e types.HostEvent) string {
	if e.Datacenter == nil {
		return "no datacenter"
	}
	return e.Datacenter.Name
}

// Causing makes seq the cause of what happens to the object (host, datastore, VM) until release is called. The latest one counts.
func (h *Hosts) Causing(ref types.ManagedObjectReference, seq uint64) (release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.causes[ref] = seq
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.causes[ref] == seq {
			delete(h.causes, ref)
		}
	}
}

// log appends an event to the log and returns its number. It looks up a cause of 0.
func (h *Hosts) log(obj event.Object, ref vc.Ref, level event.Level, kind string, cause uint64, message string) uint64 {
	if h.opts.Events == nil {
		return 0
	}
	if cause == 0 {
		h.mu.Lock()
		cause = h.causes[ref]
		h.mu.Unlock()
	}
	obj.VCenter = h.opts.VCenter
	return h.opts.Events.Append(event.Event{
		Plane: event.PlaneVSphere, Level: level, Kind: kind, Object: obj, Message: message, Cause: cause,
	})
}

func (h *Hosts) logHost(host *simulator.HostSystem, level event.Level, kind, message string) uint64 {
	return h.log(event.Object{Kind: "Host", Name: host.Name}, host.Self, level, kind, 0, message)
}

// causing passes the cause to the component that logs the VM's events.
func (h *Hosts) causing(vm vc.Ref, seq uint64) (release func()) {
	if h.opts.Causing == nil || seq == 0 {
		return func() {}
	}
	return h.opts.Causing(vm, seq)
}
