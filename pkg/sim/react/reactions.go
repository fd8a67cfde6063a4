package react

import (
	"container/heap"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/host"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// The default times of reactions.
const (
	DefaultDetect  = 15 * time.Second
	DefaultRestart = 10 * time.Second
	DefaultPeriod  = 5 * time.Minute
	DefaultLease   = time.Hour
)

// Options configures [Start].
type Options struct {
	// VCenter is the name of the vCenter in events.
	VCenter string
	// Reactions are those of the topology; missing times have the defaults above.
	Reactions topology.Reactions
	// Hosts are the vCenter's hosts. Required for HA and DRS.
	Hosts *host.Hosts
	// Renew changes the addresses of a VM's guest, if possible, as guest.Guests does. Required for DHCP.
	Renew func(vm types.ManagedObjectReference) bool
	// Events receives the events of reactions. Nil: none.
	Events *event.Log
	// Speed divides the default times of HA, DRS and DHCP; zero means 1. It does not change times of the topology.
	Speed float64
}

// Reactions are the automatic actions of one vCenter. Create them with [Start].
type Reactions struct {
	base *simulator.Context
	opts Options
	loop *loop
	ha   *ha   // nil: off
	drs  *drs  // nil: off
	dhcp *dhcp // nil: off
}

// Start enables the reactions of the topology in the vCenter of base, which must not serve yet. It returns nil without any;
// a nil Reactions may be closed. The configuration of clusters shows what is enabled, and clients may change that later. Call
// Close to end it.
func Start(base *simulator.Context, opts Options) *Reactions {
	r := &Reactions{base: base, opts: opts}
	on := opts.Reactions
	r.configure()
	if on.HA.Enabled != topology.Yes && on.DRS.Enabled != topology.Yes && on.DHCP.Enabled != topology.Yes {
		return nil
	}
	r.loop = startLoop()
	if on.HA.Enabled == topology.Yes {
		r.ha = newHA(r)
	}
	if on.DRS.Enabled == topology.Yes {
		r.drs = newDRS(r)
	}
	if on.DHCP.Enabled == topology.Yes {
		r.dhcp = newDHCP(r)
	}
	base.Map.AddHandler(r)
	return r
}

// Close ends the reactions, and waits for running ones. Closing again is harmless.
func (r *Reactions) Close() {
	if r == nil {
		return
	}
	r.base.Map.RemoveHandler(r)
	r.loop.close()
}

// Reference implements simulator.RegisterObject.
func (r *Reactions) Reference() vc.Ref {
	return vc.Ref{Type: "SandboxReactions", Value: "sandbox-reactions"}
}

// PutObject implements simulator.RegisterObject.
func (r *Reactions) PutObject(*simulator.Context, mo.Reference) {}

// RemoveObject implements simulator.RegisterObject.
func (r *Reactions) RemoveObject(_ *simulator.Context, ref vc.Ref) {
	if ref.Type != "VirtualMachine" {
		return
	}
	if r.ha != nil {
		r.loop.soon(r.ha.retry) // room is free now
	}
	if r.dhcp != nil {
		r.loop.soon(func() { r.dhcp.forget(ref) })
	}
}

// UpdateObject implements simulator.RegisterObject: it is called with the object locked, and only records changes.
func (r *Reactions) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	switch o := obj.(type) {
	case *mo.HostSystem:
		r.hostChanged(o, changes)
	case *mo.VirtualMachine:
		r.vmChanged(o, changes)
	case *mo.Datastore:
		for _, c := range changes {
			if c.Name == "summary.accessible" && r.ha != nil {
				r.loop.soon(r.ha.retry)
			}
		}
	}
}

func (r *Reactions) hostChanged(h *mo.HostSystem, changes []types.PropertyChange) {
	if r.ha == nil {
		return
	}
	for _, c := range changes {
		switch c.Name {
		case "runtime.connectionState":
			if h.Runtime.ConnectionState == types.HostSystemConnectionStateConnected {
				r.loop.soon(r.ha.retry)
			}
		case "runtime.inMaintenanceMode":
			r.loop.soon(r.ha.retry)
		}
	}
}

func (r *Reactions) vmChanged(vm *mo.VirtualMachine, changes []types.PropertyChange) {
	ref := vm.Self
	for _, c := range changes {
		switch c.Name {
		case "runtime.powerState":
			if r.ha != nil && vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
				r.loop.soon(r.ha.retry)
			}
		case "guest.ipAddress":
			if r.dhcp != nil {
				r.dhcp.addressed(ref, vm.Guest != nil && vm.Guest.IpAddress != "")
			}
		}
	}
}

// configure sets HA and DRS in the configuration of clusters. Without a setting in the topology, vcsim's default stays: DRS is
// enabled, for evacuation.
func (r *Reactions) configure() {
	ha, drs := r.opts.Reactions.HA, r.opts.Reactions.DRS
	for _, e := range r.base.Map.All("ClusterComputeResource") {
		cluster := e.(*simulator.ClusterComputeResource)
		vc.Fresh(r.base).WithLock(cluster, func() {
			config, ok := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)
			if !ok {
				return
			}
			if ha.Enabled != "" {
				config.DasConfig.Enabled = new(ha.Enabled == topology.Yes)
				config.DasConfig.AdmissionControlEnabled = new(ha.HostFailures > 0)
				config.DasConfig.HostMonitoring = string(types.ClusterDasConfigInfoServiceStateEnabled)
				config.DasConfig.FailoverLevel = ha.HostFailures
				if ha.HostFailures > 0 {
					config.DasConfig.AdmissionControlPolicy = &types.ClusterFailoverLevelAdmissionControlPolicy{FailoverLevel: ha.HostFailures}
				}
			}
			if drs.Enabled != "" {
				config.DrsConfig.Enabled = new(drs.Enabled == topology.Yes)
				config.DrsConfig.DefaultVmBehavior = types.DrsBehaviorFullyAutomated
			}
		})
	}
}

// orElse returns the topology's time, or the default at the sandbox's speed. A loaded topology has the default filled in, so the
// two are equal.
func (r *Reactions) orElse(d topology.Duration, other time.Duration) time.Duration {
	switch {
	case d > 0 && time.Duration(d) != other:
		return time.Duration(d)
	case r.opts.Speed > 0:
		return time.Duration(float64(other) / r.opts.Speed)
	}
	return other
}

// log appends an event to the log and returns its number.
func (r *Reactions) log(obj event.Object, level event.Level, kind string, cause uint64, message string) uint64 {
	if r.opts.Events == nil {
		return 0
	}
	obj.VCenter = r.opts.VCenter
	return r.opts.Events.Append(event.Event{
		Plane: event.PlaneVSphere, Level: level, Kind: kind, Object: obj, Message: message, Cause: cause,
	})
}

// loop runs functions sequentially, at once or at a time. Functions may be added with any lock held.
type loop struct {
	mu    sync.Mutex
	queue jobs
	count uint64
	wake  chan struct{} // holds one token when the queue changed

	stop chan struct{}
	once sync.Once
	done chan struct{}
}

// job is a function with its due time and sequence number.
type job struct {
	due   time.Time
	count uint64
	run   func()
}

func startLoop() *loop {
	l := &loop{wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go l.run()
	return l
}

// soon runs f after all due functions.
func (l *loop) soon(f func()) { l.after(0, f) }

// after runs f in d.
func (l *loop) after(d time.Duration, f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	heap.Push(&l.queue, job{due: time.Now().Add(d), count: l.count, run: f})
	notify.Wake(l.wake)
}

// close drops pending functions, and waits for the running one. Closing again is harmless.
func (l *loop) close() {
	l.once.Do(func() { close(l.stop) })
	<-l.done
}

func (l *loop) run() {
	defer close(l.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-l.stop:
			return
		default:
		}
		next, wait := l.next()
		if next != nil {
			next()
			continue
		}
		timer.Reset(wait)
		select {
		case <-l.stop:
			return
		case <-l.wake:
		case <-timer.C:
		}
	}
}

// next removes and returns a due function, or returns the time until the next one.
func (l *loop) next() (func(), time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return nil, time.Hour
	}
	if wait := time.Until(l.queue[0].due); wait > 0 {
		return nil, wait
	}
	return heap.Pop(&l.queue).(job).run, 0
}

// jobs is a heap by due time, then by order.
type jobs []job

func (q jobs) Len() int { return len(q) }
func (q jobs) Less(i, j int) bool {
	if !q[i].due.Equal(q[j].due) {
		return q[i].due.Before(q[j].due)
	}
	return q[i].count < q[j].count
}
func (q jobs) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *jobs) Push(x any)   { *q = append(*q, x.(job)) }
func (q *jobs) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	(*q)[last] = job{}
	*q = (*q)[:last]
	return x
}
