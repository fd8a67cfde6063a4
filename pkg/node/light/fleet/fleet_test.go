package fleet

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
)

var booted = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func vm() node.VM {
	return node.VM{Exists: true, Power: node.On, BootTime: booted, GuestUp: true, Hostname: "Worker-1", UUID: "u", CPUs: 2}
}

// rig is a fleet of one.
type rig struct {
	*Guest
	f       *Fleet
	m       node.VM
	changes []child.State
	refuse  atomic.Bool
}

func newRig(t *testing.T) *rig {
	r := &rig{f: New(), m: vm()}
	t.Cleanup(r.f.Close)
	r.f.Program(child.Change{State: child.Started, PID: 42})
	r.Guest = r.f.Guest("us/vm-1", Options{
		Boot: func(m node.VM) (feed.Guest, error) {
			if r.refuse.Load() {
				return feed.Guest{}, errors.New("no name for a node")
			}
			return feed.Guest{Name: m.Hostname, UUID: m.UUID}, nil
		},
		Notify: func(c child.Change) { r.changes = append(r.changes, c.State) },
	})
	return r
}

func (r *rig) see(change func(*node.VM)) {
	change(&r.m)
	r.Observe(r.m)
	synctest.Wait()
}

// feedState returns the state of the one machine in the feed.
func (r *rig) feedState() feed.State {
	synctest.Wait()
	list := r.f.Feed().Guests()
	if len(list) == 0 {
		return feed.Gone
	}
	return list[0].State
}

func (r *rig) expect(t *testing.T, when string, reported feed.State, process node.Process) {
	t.Helper()
	if got := r.feedState(); got != reported {
		t.Errorf("%s: the feed says %s, want %s", when, got, reported)
	}
	if got, _, _ := r.State(); got != process {
		t.Errorf("%s: the guest is %s, want %s", when, got, process)
	}
}

func same(*node.VM) {}

func TestGuestFollowsItsVM(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.see(func(m *node.VM) { m.GuestUp = false })
		r.expect(t, "before its guest is up", feed.Gone, node.Stopped)
		r.see(func(m *node.VM) { m.GuestUp = true })
		r.expect(t, "up", feed.Running, node.Running)
		if _, pid, _ := r.State(); pid != 42 {
			t.Errorf("pid %d, want the program's", pid)
		}
		r.see(func(m *node.VM) { m.Power = node.Suspended })
		r.expect(t, "suspended", feed.Suspended, node.Paused)
		r.see(func(m *node.VM) { m.Power = node.On })
		r.expect(t, "resumed", feed.Running, node.Running)
		r.see(func(m *node.VM) { m.Power, m.GuestUp = node.Off, false })
		r.expect(t, "off", feed.Stopped, node.Stopped)
		r.see(func(m *node.VM) { m.Power, m.BootTime, m.GuestUp = node.On, booted.Add(time.Hour), true })
		r.expect(t, "on again", feed.Running, node.Running)
		if m := r.f.Feed().Guests()[0]; !m.Boot.Equal(booted.Add(time.Hour)) {
			t.Errorf("booted at %s, want the second boot", m.Boot)
		}
		r.see(func(m *node.VM) { m.BootTime, m.Hostname = booted.Add(2*time.Hour), "other" })
		if m := r.f.Feed().Guests()[0]; m.Name != "other" {
			t.Errorf("name %q after a reset with another hostname", m.Name)
		}
		r.see(func(m *node.VM) { m.Exists = false })
		r.expect(t, "destroyed", feed.Gone, node.Stopped)
		want := []child.State{child.Started, child.Stopped, child.Started, child.Stopped, child.Started, child.Stopped}
		if diff := cmp.Diff(want, r.changes); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
	})
}

func TestGuestHangsUntilReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		if r.Hang() {
			t.Error("one that is not there hangs")
		}
		r.see(same)
		if !r.Hang() {
			t.Fatal("one that runs does not hang")
		}
		r.expect(t, "hung", feed.Hung, node.Hung)
		r.Unhang()
		r.expect(t, "let go", feed.Running, node.Running)
		r.Hang()
		r.see(func(m *node.VM) { m.BootTime = booted.Add(time.Hour) })
		r.expect(t, "reset", feed.Running, node.Running)
	})
}

func TestGuestDiesWithItsHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.see(same)
		r.Die()
		r.expect(t, "dead", feed.Stopped, node.Stopped)
		r.see(same)
		r.expect(t, "shown as it was", feed.Stopped, node.Stopped)
		r.see(func(m *node.VM) { m.BootTime = booted.Add(time.Hour) })
		r.expect(t, "booted elsewhere", feed.Running, node.Running)
	})
}

func TestGuestCrashesAndRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		if err := r.Crash(t.Context()); !errors.Is(err, node.ErrNoGuest) {
			t.Errorf("crash of nothing: %v", err)
		}
		r.see(same)
		if err := r.Crash(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.expect(t, "crashed", feed.Stopped, node.Crashing)
		if err := r.Restart(t.Context()); !errors.Is(err, node.ErrNoGuest) {
			t.Errorf("restart of a crashed one: %v", err)
		}
		time.Sleep(restartAfter)
		r.expect(t, "started again", feed.Running, node.Running)
		if _, _, n := r.State(); n != 1 {
			t.Errorf("%d restarts, want 1", n)
		}
		if err := r.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.expect(t, "restarted", feed.Running, node.Running)
		if m := r.f.Feed().Guests()[0]; m.Starts != 2 {
			t.Errorf("started %d times more, want 2", m.Starts)
		}
		want := []child.State{child.Started, child.Exited, child.Started, child.Started}
		if diff := cmp.Diff(want, r.changes); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
	})
}

func TestGuestIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.see(same)
		_ = r.Cut(true)
		synctest.Wait()
		if m := r.f.Feed().Guests()[0]; m.SendsHeartbeats() || !r.IsCut() {
			t.Errorf("cut off, it is heard: %+v", m)
		}
		r.see(func(m *node.VM) { m.BootTime = booted.Add(time.Hour) })
		if m := r.f.Feed().Guests()[0]; m.SendsHeartbeats() {
			t.Error("a reset has mended its network")
		}
		_ = r.Restore()
		synctest.Wait()
		if m := r.f.Feed().Guests()[0]; !m.SendsHeartbeats() || r.IsCut() {
			t.Errorf("mended, it is not heard: %+v", m)
		}
	})
}

func TestGuestThatCannotBoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.refuse.Store(true)
		r.see(same)
		r.expect(t, "refused", feed.Gone, node.Stopped)
		time.Sleep(2 * retryAfter)
		r.refuse.Store(false)
		time.Sleep(retryAfter)
		r.expect(t, "tried again", feed.Running, node.Running)
		if diff := cmp.Diff([]child.State{child.Exited, child.Started}, r.changes); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
	})
}

func TestProgramCrashes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.see(same)
		r.f.Program(child.Change{State: child.Exited, PID: 42})
		if p, pid, _ := r.State(); p != node.Crashing || pid != 0 {
			t.Errorf("without its program it is %s, pid %d", p, pid)
		}
		r.f.Program(child.Change{State: child.Started, PID: 43})
		if p, pid, _ := r.State(); p != node.Running || pid != 43 {
			t.Errorf("with another it is %s, pid %d", p, pid)
		}
		if err := r.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.expect(t, "stopped", feed.Gone, node.Stopped)
	})
}

func TestEmptyFleet(t *testing.T) {
	f := New()
	f.Close()
	f.Close()
}

// Some shares of what a control plane takes.
func TestLeaseDurations(t *testing.T) {
	for _, tc := range []struct {
		nodes int
		speed pace.Speed
		want  time.Duration
	}{
		{10, 1, 40 * time.Second},
		{2500, 1, 40 * time.Second},
		{4000, 1, 64 * time.Second},
		{5000, 1, 80 * time.Second},
		{100000, 1, 80 * time.Second},
		{100, 10, 4 * time.Second},
		{1000, 10, 8 * time.Second},
	} {
		if got := LeaseDuration(tc.nodes, tc.speed); got != tc.want {
			t.Errorf("%d nodes at speed %v: %s, want %s", tc.nodes, tc.speed, got, tc.want)
		}
	}
	for s := pace.Speed(1); s <= pace.Max; s++ {
		if renew := LeaseDuration(1<<20, s) / 4; 2*renew > s.Of(pace.NodeMonitorGracePeriod) {
			t.Errorf("speed %v: renewed every %s, grace %s", s, renew, s.Of(pace.NodeMonitorGracePeriod))
		}
	}
}
