package host

import (
	"slices"
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

// Options of [Install].
type Options struct {
	// VCenter is the name that events carry.
	VCenter string
	// Events receives what happens to hosts; nil means nobody wants to know.
	Events *event.Log
	// Boot is how long a host takes to boot, on a reboot and out of standby. Zero means no time.
	Boot time.Duration
	// Causing, if set, is told the event that is the cause of what happens to a VM, until release is called.
	Causing func(vm types.ManagedObjectReference, seq uint64) (release func())
	// Locked, if set, reports whether a disk that is to be added to a VM is a file that another VM holds.
	Locked func(vm types.ManagedObjectReference, disk *types.VirtualDisk) bool
	// Stock leaves the calls on hosts, and the placement of VMs, to vcsim where it has stock.Hosts. Go methods work anyway.
	Stock stock.Set
}

// self is what the hosts of each vCenter are registered as.
func self() vc.Ref { return vc.Ref{Type: "SandboxHosts", Value: "sandbox-hosts"} }

// Admission decides whether a VM may be powered on; nil means yes. No lock of vcsim's is held.
type Admission func(vm types.ManagedObjectReference) types.BaseMethodFault

// Hosts answers the calls on the hosts of one vCenter. Make one with [Install]. All methods may be called from any
// goroutine that holds no lock of vcsim's.
type Hosts struct {
	redirect.Receiver

	base     *simulator.Context
	opts     Options
	admit    Admission
	died     []func(host vc.Ref, seq uint64)
	watcher  *watcher
	starting sync.RWMutex // held for writing while it must not change which VMs run where; before every object lock
	summing  sync.Mutex   // one sum of a compute resource at a time; before every object lock
	storage  *storage

	mounting sync.Mutex // guards what follows; before every object lock
	unmounts map[pairing]unmounted

	mu      sync.Mutex // guards what follows; after every object lock
	hosts   map[vc.Ref]*condition
	hidden  map[vc.Ref]types.VirtualMachineConnectionState // VMs that the vCenter cannot see, though it sees their host
	full    map[vc.Ref]int64                               // datastores without space, with what was free
	refused map[vc.Ref]refusal
	deaths  []func(vm vc.Ref, seq uint64)
	causes  map[vc.Ref]uint64
	closed  bool

	stop chan struct{}
	work sync.WaitGroup
}

// Install takes over the calls on hosts in the vCenter of base, which must not serve yet. For every call that reaches the
// vCenter, [Hosts.Check] must be asked first and [Hosts.Redirect] after it. Close ends it.
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
		}
	}
	h.watcher = newWatcher(h.adopt, h.forget)
	base.Map.Put(h)
	base.Map.Put(h.storage)
	base.Map.AddHandler(h.watcher)
	for _, e := range base.Map.All("HostSystem") {
		h.adopt(e)
		if host, ok := e.(*simulator.HostSystem); ok && h.Methods != nil {
			host.Summary.OverallStatus = host.OverallStatus // vcsim's is gray
			if host.Runtime.StandbyMode == "" {
				host.Runtime.StandbyMode = string(types.HostStandbyModeNone) // a vCenter always says
			}
		}
	}
	return h
}

// Redirect takes over the call if it is one of ours, and reports whether it was.
func (h *Hosts) Redirect(ctx *simulator.Context, method *simulator.Method) bool {
	return h.storage.redirect(ctx, method) || h.Receiver.Redirect(ctx, method)
}

// Admit lets a decide about power-ons; it must be called before the vCenter serves. Power-ons are decided and done one
// after the other, then, so that a can count.
func (h *Hosts) Admit(a Admission) { h.admit = a }

// Died lets f know of every host whose VMs have died with it, with the event of our log that says so: the vCenter cannot
// see that. It must be called before the vCenter serves; f is called on the goroutine of whoever ended the host, with no
// lock held, before that returns. Several may be told.
func (h *Hosts) Died(f func(host types.ManagedObjectReference, seq uint64)) {
	h.died = append(h.died, f)
}

// OnDeath lets f know of every VM that dies with its host, with the event of our log that says so. It may be called at any
// time; f is called as by [Hosts.Died], which it is told before.
func (h *Hosts) OnDeath(f func(vm types.ManagedObjectReference, seq uint64)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deaths = append(slices.Clone(h.deaths), f)
}

// Close ends the tasks that wait and the hosts that boot, and waits for them. Closing again is harmless.
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

// begin announces work that Close waits for, unless it has begun to.
func (h *Hosts) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.work.Add(1)
	return true
}

// adopt takes on a host as it is when it is new.
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
		c.machine = crashed
	default:
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hosts[host.Self] == nil {
		h.hosts[host.Self] = &c
	}
}

// forget drops what is known of an object that is gone.
func (h *Hosts) forget(ref vc.Ref) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.hosts, ref)
	delete(h.hidden, ref)
	delete(h.full, ref)
	delete(h.refused, ref)
	delete(h.causes, ref)
}
