package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
)

// Fleet has all light nodes of a sandbox. Create it with [New], end it with [Fleet.Close]. Its methods may be called from
// any goroutine.
type Fleet struct {
	source *feed.Source

	begin sync.Once // run starts with the first guest

	mu      sync.Mutex
	dirty   []*Guest // guests to reconcile, each once
	program process
	wake    chan struct{}
	closed  chan struct{}
	done    chan struct{}
}

// process is the state of the program's process, as its supervisor reported it last.
type process struct {
	pid      int
	crashing bool
}

// New returns a fleet without guests. It starts no goroutine before the first guest.
func New() *Fleet {
	return &Fleet{source: feed.NewSource(), wake: make(chan struct{}, 1), closed: make(chan struct{}), done: make(chan struct{})}
}

// Feed is the source that the program reads.
func (f *Fleet) Feed() *feed.Source { return f.source }

// Program handles a change of the program's process. Use it as a child's notify function, or call it there.
func (f *Fleet) Program(c child.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch c.State {
	case child.Started:
		f.program = process{pid: c.PID}
	case child.Exited, child.Restarting:
		f.program = process{crashing: true}
	case child.Stopped:
		f.program = process{}
	}
}

// Guest returns the guest of a VM that does not exist yet; id must be unique.
func (f *Fleet) Guest(id string, opts Options) *Guest {
	f.begin.Do(func() { go f.run() })
	return &Guest{fleet: f, id: id, opts: opts, process: node.Stopped}
}

// Close ends the fleet; guests follow their VMs no more. It returns when nothing of it runs.
func (f *Fleet) Close() {
	f.mu.Lock()
	select {
	case <-f.closed:
	default:
		close(f.closed)
	}
	f.mu.Unlock()
	f.begin.Do(func() { close(f.done) })
	<-f.done
}

// enqueue schedules a guest. The caller of Observe may hold a lock, so the guest is followed, and notifies, in another
// goroutine.
func (f *Fleet) enqueue(g *Guest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !g.dirty {
		g.dirty = true
		f.dirty = append(f.dirty, g)
	}
	notify.Wake(f.wake)
}

func (f *Fleet) run() {
	defer close(f.done)
	for {
		select {
		case <-f.wake:
		case <-f.closed:
			return
		}
		f.mu.Lock()
		batch := f.dirty
		f.dirty = nil
		for _, g := range batch {
			g.dirty = false
		}
		f.mu.Unlock()
		for _, g := range batch {
			g.reconcile()
		}
	}
}

// leasesPerSecond is what a control plane on two cores handles beside its other load. Each costs it about a millisecond.
const leasesPerSecond = 250

// LeaseDuration returns the duration of Leases for so many nodes: a kubelet's, or up to twice that if renewing all of
// them at a quarter of it would overload a small control plane. The limit is twice, since a second renewal must fit into
// the node monitor's grace period, or one late renewal would make a node not ready.
func LeaseDuration(nodes int, speed pace.Speed) time.Duration {
	usual := speed.Of(pace.NodeLease)
	enough := 4 * time.Duration(nodes) * time.Second / leasesPerSecond
	return max(usual, min(enough.Round(time.Second), 2*usual))
}

// Options configure a guest.
type Options struct {
	// Boot returns the guest's machine for this boot of the VM: all fields but its ID and state. It is called from the fleet's
	// goroutine after each power-on or reset, and again later after an error.
	Boot func(node.VM) (feed.Guest, error)
	// Notify is called for every change, as for a kubelet's process, and for a Boot that failed (Exited, with its error). It is
	// called from the fleet's goroutine, or from Stop, and may call the guest.
	Notify func(child.Change)
}

var (
	_ node.Guest   = (*Guest)(nil)
	_ node.Network = (*Guest)(nil)
)

// Guest is the guest of one VM. Its methods may be called from any goroutine and do not block on the program.
type Guest struct {
	fleet *Fleet
	id    string
	opts  Options
	dirty bool // guarded by the fleet's lock

	mu      sync.Mutex
	life    node.Life
	cut     bool
	process node.Process
	crashed bool // its kubelet crashed, and restarts later
	count   int  // crashes since the last boot
	starts  int  // restarts of its kubelet since the last boot
	stopped bool

	reconciling sync.Mutex // held while reconcile runs; guards the fields below
	up          bool
	boot        time.Time  // the boot that is up
	sent        feed.Guest // as sent in this boot
	down        bool       // its crash was reported
	failure     string     // the last error of Boot
}

const (
	restartAfter = time.Second     // a kubelet that crashed restarts
	retryAfter   = 5 * time.Second // a failed Boot is retried
)

func (g *Guest) change(f func()) {
	g.mu.Lock()
	f()
	g.mu.Unlock()
	g.fleet.enqueue(g)
}

// Observe implements [node.Guest].
func (g *Guest) Observe(m node.VM) { g.change(func() { g.life.Observe(m) }) }

// State implements [node.Guest]; the PID is that of the shared program.
func (g *Guest) State() (p node.Process, pid, restarts int) {
	g.fleet.mu.Lock()
	program := g.fleet.program
	g.fleet.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.process == node.Stopped:
		return node.Stopped, 0, 0
	case g.crashed || program.crashing:
		return node.Crashing, 0, g.count
	}
	return g.process, program.pid, g.count
}

// Stop implements [node.Guest].
func (g *Guest) Stop(context.Context) error {
	g.mu.Lock()
	g.stopped = true
	g.mu.Unlock()
	g.reconcile()
	return nil
}

// Hang implements [node.Guest].
func (g *Guest) Hang() (ok bool) {
	g.change(func() {
		if ok = !g.crashed && g.life.Hang(g.process); ok {
			g.process = node.Hung
		}
	})
	return ok
}

// Unhang implements [node.Guest].
func (g *Guest) Unhang() { g.change(g.life.Unhang) }

// Die implements [node.Guest].
func (g *Guest) Die() { g.change(g.life.Die) }

// Crash implements [node.Guest].
func (g *Guest) Crash(context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.process == node.Stopped:
		return node.ErrNoGuest
	case g.crashed:
		return nil
	}
	g.crashed = true
	g.count++
	g.starts++
	boot := g.life.VM.BootTime
	time.AfterFunc(restartAfter, func() {
		g.change(func() { g.crashed = g.crashed && !g.life.VM.BootTime.Equal(boot) })
	})
	g.fleet.enqueue(g)
	return nil
}

// Restart implements [node.Guest].
func (g *Guest) Restart(context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.process != node.Running || g.crashed {
		return fmt.Errorf("kubelet: %w", node.ErrNoGuest)
	}
	g.starts++
	g.fleet.enqueue(g)
	return nil
}

// WithholdLinks implements [node.Guest]. A light node takes no volumes, so it has no links.
func (g *Guest) WithholdLinks(bool) {}

// Cut implements [node.Network]. A light node has no connections, so both ways to cut are the same.
func (g *Guest) Cut(bool) error {
	g.change(func() { g.cut = true })
	return nil
}

// Restore implements [node.Network].
func (g *Guest) Restore() error {
	g.change(func() { g.cut = false })
	return nil
}

// IsCut implements [node.Network].
func (g *Guest) IsCut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cut
}

var errKilled = errors.New("killed")

// snapshot is the state that a guest's next step depends on.
type snapshot struct {
	machine              node.VM
	next                 node.Next
	cut, crashed, closed bool
	starts               int
}

func (g *Guest) snapshot() snapshot {
	g.mu.Lock()
	defer g.mu.Unlock()
	return snapshot{g.life.VM, g.life.Next(g.boot), g.cut, g.crashed, g.stopped, g.starts}
}

// reconcile brings the guest's machine in the feed in line with its VM.
func (g *Guest) reconcile() {
	g.reconciling.Lock()
	defer g.reconciling.Unlock()
	s := g.snapshot()
	m := s.machine
	if g.up && (s.closed || s.next.End) {
		s.crashed, s.starts = false, 0
		g.end()
	}
	if g.up && g.boot.IsZero() {
		g.boot = m.BootTime // it was unknown before
	}
	if !g.up && !s.closed && s.next.Start {
		g.start(m)
	}
	switch {
	case s.closed || !m.Exists:
		g.sent = feed.Guest{State: feed.Gone}
	case !g.up:
		g.sent.State = feed.Stopped
	default:
		g.setState(s)
	}
	g.sent.ID, g.sent.Cut = g.id, s.cut
	if g.sent.Name != "" || g.sent.State == feed.Gone { // one that never booted is not in the feed
		g.fleet.source.Set(g.sent)
	}
}

// setState sets the state of a guest that is up.
func (g *Guest) setState(s snapshot) {
	process := s.next.State
	switch {
	case process == node.Paused:
		g.sent.State = feed.Suspended
	case process == node.Hung:
		g.sent.State = feed.Hung
	case s.crashed:
		g.sent.State = feed.Stopped
	default:
		g.sent.State = feed.Running
	}
	again := s.starts != g.sent.Starts
	g.sent.Starts = s.starts
	g.mu.Lock()
	g.process = process
	g.mu.Unlock()
	switch {
	case s.crashed && !g.down:
		g.down = true
		g.notify(child.Change{State: child.Exited, Err: errKilled})
	case !s.crashed && (g.down || again):
		g.down = false
		g.notify(child.Change{State: child.Started})
	}
}

func (g *Guest) start(m node.VM) {
	line, err := g.opts.Boot(m)
	if err != nil {
		if err.Error() != g.failure { // report it once
			g.failure = err.Error()
			g.notify(child.Change{State: child.Exited, Err: err})
		}
		time.AfterFunc(retryAfter, func() { g.fleet.enqueue(g) })
		return
	}
	line.Boot = m.BootTime
	g.failure, g.up, g.down, g.boot, g.sent = "", true, false, m.BootTime, line
	g.notify(child.Change{State: child.Started})
}

// end is the loss of power. It ends a hang, and restarts count from zero in the next boot.
func (g *Guest) end() {
	g.up, g.boot = false, time.Time{}
	g.mu.Lock()
	g.process, g.crashed, g.count, g.starts = node.Stopped, false, 0, 0
	g.life.Unhang()
	g.mu.Unlock()
	g.notify(child.Change{State: child.Stopped})
}

func (g *Guest) notify(c child.Change) {
	if g.opts.Notify == nil {
		return
	}
	g.fleet.mu.Lock()
	c.PID = g.fleet.program.pid
	g.fleet.mu.Unlock()
	g.opts.Notify(c)
}

// Account is the name of the program's ServiceAccount, roles and bindings.
const Account = "vsphere-light-nodes"

// Rights returns the program's permissions in the cluster: those of kubelets, as far as light nodes need them.
func Rights() []rbacv1.PolicyRule {
	core := []string{corev1.GroupName}
	return []rbacv1.PolicyRule{
		{APIGroups: core, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch", "create"}},
		{APIGroups: core, Resources: []string{"nodes/status"}, Verbs: []string{"patch"}},
		{APIGroups: core, Resources: []string{"pods"}, Verbs: []string{"list", "watch", "delete"}},
		{APIGroups: core, Resources: []string{"pods/status"}, Verbs: []string{"patch"}},
	}
}

// LeaseRights returns its permissions in the namespace of nodes' Leases, kube-node-lease.
func LeaseRights() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}},
	}
}

// Objects returns the ServiceAccount, in a namespace, and its roles and bindings.
func Objects(namespace string) []runtime.Object {
	meta := metav1.ObjectMeta{Name: Account}
	leases := metav1.ObjectMeta{Name: Account, Namespace: corev1.NamespaceNodeLease}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: Account}}
	role := func(kind string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: Account}
	}
	return []runtime.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: Account, Namespace: namespace}},
		&rbacv1.ClusterRole{ObjectMeta: meta, Rules: Rights()},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: role("ClusterRole"), Subjects: subjects},
		&rbacv1.Role{ObjectMeta: leases, Rules: LeaseRights()},
		&rbacv1.RoleBinding{ObjectMeta: leases, RoleRef: role("Role"), Subjects: subjects},
	}
}
