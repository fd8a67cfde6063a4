package sandbox

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/storage"
)

// ccms are the cloud controller managers that run: one, or several of which one leads. The zero value is ready to use.
type ccms struct {
	replacing sync.Mutex    // held while replicas are started, replaced or stopped
	adopting  sync.Mutex    // held while the objects of a deployed one are taken over; guards adopted
	adopted   bool          // a token of its ServiceAccount is kept fresh
	patience  time.Duration // in place of ccmStartTime; 0: that

	mu sync.Mutex
	// unsettled: vsphere.conf has changed since they were last restarted for a change of it.
	unsettled     bool
	restarting    uint64 // the event for which they are being replaced; 0 for none
	leaderWatched bool   // their Lease is being followed
	runs          CCM
	elect         bool
	list          []*replica
	rights        []runtime.Object
	changed       chan struct{} // closed and replaced when a replica has become healthy, or exited
	client        *http.Client  // for probes and metrics
	stopped       bool          // none is started any more
}

// replica is one of them. Its fields but name and port are guarded by [ccms.mu].
type replica struct {
	name string // of the component
	port string
	// child is nil before it was started.
	child   *child.Child
	since   time.Time // of its start
	logFrom int64     // where in its log it begins: before are others
	healthy bool
	// ill is why it is not healthy, in words.
	ill string
	// exits counts how often it ended by itself since it was started; last is how it did so.
	exits int
	last  string
	leads bool
}

func (c *ccms) all() []*replica {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}

func (c *ccms) find(component string) *replica {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.list {
		if r.name == component {
			return r
		}
	}
	return nil
}

// tell changes what is known of a replica, and wakes whoever waits for that.
func (c *ccms) tell(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// awaited returns a channel that is closed at the next change. The caller holds the lock.
func (c *ccms) awaited() <-chan struct{} {
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

// trust prepares the client, which takes no other certificate than one of those authorities.
func (c *ccms) trust(pool *x509.CertPool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.client = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true, // one that is replaced takes no connection along
	}}
}

func (c *ccms) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != nil {
		c.client.CloseIdleConnections()
	}
}

// child is the process of a component that is a cloud controller manager; nil when there is none of that name.
func (c *ccms) child(component string) *child.Child {
	r := c.find(component)
	if r == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return r.child
}

// leader is the component that leads, "" when none is known to.
func (c *ccms) leader() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.list {
		if r.leads {
			return r.name
		}
	}
	return ""
}

// running returns what runs, and whether a leader is elected.
func (c *ccms) running() (runs CCM, elect bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs, c.elect
}

// setRestartCause sets the event for which replicas are being replaced, 0 when they are not.
func (c *ccms) setRestartCause(seq uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.restarting = seq
}

// restartCause is the event for which replicas are being replaced, 0 when they are not.
func (c *ccms) restartCause() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.restarting
}

// replicaName is that of the nth, from 0.
func replicaName(n int) string {
	if n == 0 {
		return ccmComponent
	}
	return fmt.Sprintf("%s-%d", ccmComponent, n+1)
}

// freePort is one that nobody listens at now. Should somebody be faster, the replica says so and gets another.
func freePort() (string, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(ccmHost, "0"))
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

// launchCCM starts all replicas anew, for the event cause (0: with the sandbox). None runs.
func (s *Sandbox) launchCCM(c CCM, elect bool, cause uint64) error {
	s.ccms.tell(func() { s.ccms.runs, s.ccms.elect, s.ccms.list = c, elect, nil })
	for n := range c.Replicas {
		if err := s.launchReplica(replicaName(n), cause); err != nil {
			return err
		}
	}
	return nil
}

// errStopping is why nothing is started any more.
var errStopping = errors.New("the sandbox is stopping")

// launchReplica starts one, in the place of one of its name or after the others.
func (s *Sandbox) launchReplica(name string, cause uint64) error {
	if s.cluster != nil { // nil in tests
		addr, err := s.proxies.Addr(name)
		if err != nil {
			return err
		}
		if err := s.cluster.Token(s.ccmKubeconfig(name), addr, s.tokenFile()); err != nil {
			return err
		}
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	r := &replica{name: name, port: port, since: time.Now(), ill: "starting"}
	if info, err := os.Stat(s.opts.Dir.Log(name)); err == nil {
		r.logFrom = info.Size()
	}
	s.ccms.mu.Lock()
	if s.ccms.stopped {
		s.ccms.mu.Unlock()
		return errStopping
	}
	if at := slices.IndexFunc(s.ccms.list, func(r *replica) bool { return r.name == name }); at >= 0 {
		s.ccms.list[at] = r
	} else {
		s.ccms.list = append(s.ccms.list, r)
	}
	c, elect := s.ccms.runs, s.ccms.elect
	s.ccms.mu.Unlock()
	if elect {
		s.watchLeader()
	}
	object := event.Object{Kind: "Component", Name: name}
	first := true
	started := child.Start(s.ccmSpec(r, c, elect), func(ch child.Change) {
		because := uint64(0) // later on it ends and starts for reasons of its own
		switch {
		case ch.State == child.Started && first:
			because, first = cause, false
		case ch.State == child.Stopped:
			because = s.ccms.restartCause()
		}
		s.components.Note(ch, object, because)
		s.replicaChanged(r, ch)
	})
	s.ccms.tell(func() { r.child = started })
	return nil
}

// replicaChanged keeps what is known of a replica.
func (s *Sandbox) replicaChanged(r *replica, ch child.Change) {
	s.ccms.tell(func() {
		switch ch.State {
		case child.Started:
			r.since = time.Now()
		case child.Exited:
			r.exits++
			r.last = child.ExitText(ch, s.opts.Dir.Log(r.name))
			r.healthy, r.leads, r.ill = false, false, "exited"
		case child.Stopped:
			r.healthy, r.leads, r.ill = false, false, "stopped"
		case child.Restarting:
			if r.healthy { // else it has exited
				r.healthy, r.ill = false, "being started again"
			}
		case child.Starting:
		}
	})
	s.components.Changed(r.name)
	taken := func(line string) bool {
		return strings.Contains(line, "address already in use") && strings.Contains(line, ":"+r.port)
	}
	if ch.State == child.Exited && slices.ContainsFunc(ch.Tail, taken) {
		s.background.Run("ccm restart", func(ctx context.Context) { s.movePort(ctx, r) })
	}
}

// movePort starts a replica whose port somebody else has at another.
func (s *Sandbox) movePort(ctx context.Context, r *replica) {
	s.ccms.replacing.Lock()
	defer s.ccms.replacing.Unlock()
	if ctx.Err() != nil || s.ccms.find(r.name) != r {
		return // it has been replaced meanwhile
	}
	if err := stopReplicas(ctx, []*replica{r}); err != nil {
		s.opts.Logger.Error("cloud controller manager", "component", r.name, "err", err)
	}
	if ctx.Err() == nil {
		if err := s.launchReplica(r.name, 0); err != nil {
			s.opts.Logger.Error("cloud controller manager", "component", r.name, "err", err)
		}
	}
}

// stopReplicas ends some, all at once.
func stopReplicas(ctx context.Context, list []*replica) error {
	var all []*child.Child
	for _, r := range list {
		all = append(all, r.child)
	}
	return child.StopAll(ctx, all...)
}

// watchLeader follows the Lease by which several elect a leader. Again it does nothing.
func (s *Sandbox) watchLeader() {
	s.ccms.mu.Lock()
	begun := s.ccms.leaderWatched || s.cluster == nil
	s.ccms.leaderWatched = true
	s.ccms.mu.Unlock()
	if begun {
		return
	}
	s.background.Run("ccm leader", func(ctx context.Context) {
		holders := make(chan string, 1)
		factory := cloudconfig.Informers(s.cluster.Client(), s.ccmNamespace(), ccmLeaseName)
		err := storage.Follow(factory.Coordination().V1().Leases().Informer(), func(_, lease *coordinationv1.Lease, gone bool) {
			if gone || lease.Spec.HolderIdentity == nil {
				return
			}
			select { // the newest counts
			case <-holders:
			default:
			}
			holders <- *lease.Spec.HolderIdentity
		})
		if err != nil {
			s.opts.Logger.Error("leader watch", "err", err)
			return
		}
		factory.Start(ctx.Done())
		defer factory.Shutdown()
		last, leader := "", ""
		for {
			select {
			case <-ctx.Done():
				return
			case holder := <-holders:
				if holder != last && holder != "" {
					last, leader = holder, s.leaderChanged(ctx, holder, leader)
				}
			}
		}
	})
}

// leaderChanged notes that the Lease has another holder, and returns which replica that is; "" for none of ours.
func (s *Sandbox) leaderChanged(ctx context.Context, holder, was string) string {
	leader := s.findLeader(ctx, holder)
	s.ccms.tell(func() {
		for _, r := range s.ccms.list {
			r.leads = r.name == leader
		}
	})
	for _, r := range s.ccms.all() {
		s.components.Changed(r.name)
	}
	cause := s.causes.Newest([]string{"child.exited", "child.stopped", "child.killed", "child.paused", "api.cut"}, func(e event.Event) bool {
		return was != "" && e.Object.Name == was
	})
	name := leader
	if name == "" {
		name = holder // somebody who is none of ours, or who has ended already
	}
	e := event.Event{
		Plane: event.PlaneKubernetes, Kind: "ccm.leader-changed", Cause: cause,
		Object: event.Object{Kind: "Component", Name: name}, Message: name + " leads",
	}
	if was != "" {
		e.Message += fmt.Sprintf("; before it was %s", was)
	}
	s.log.Append(e)
	return leader
}

// findLeader finds the replica that has made up the name in the Lease: it logs the name when it becomes the leader, as
// the Event that says so. Its metrics do not tell.
func (s *Sandbox) findLeader(ctx context.Context, holder string) string {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 60 { // it says so a moment after it has taken the lease
		for _, r := range s.ccms.all() {
			if strings.Contains(child.LogTail(s.opts.Dir.Log(r.name), r.logFrom), holder) {
				return r.name
			}
		}
		select {
		case <-ctx.Done():
			return ""
		case <-tick.C:
		}
	}
	return ""
}
