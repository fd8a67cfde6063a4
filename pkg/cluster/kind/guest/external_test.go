package guest_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// A container that another process stops is reported and started again, with a back-off.
func TestEndedByAnotherProcess(t *testing.T) {
	inBubble(t, "running", func(r *rig) {
		r.sees()
		r.requireChanges(child.Started)
		end := func() { r.external("die", func() { _ = r.ends(3) }) }
		end()
		synctest.Wait()
		if p, pid, n := r.State(); p != node.Crashing || pid != 0 || n != 1 {
			t.Errorf("%v, PID %d, %d restarts", p, pid, n)
		}
		c := r.requireChanges(child.Exited, child.Restarting)
		if c[0].Err == nil || !strings.Contains(c[0].Err.Error(), "stopped by another process") || !strings.Contains(c[0].Err.Error(), "exit status 3") ||
			c[0].PID == 0 || c[1].Backoff != time.Second {
			t.Errorf("%+v", c)
		}
		r.after(time.Second)
		r.require("running", node.Running, "start")
		r.requireChanges(child.Started)
		end()
		r.after(1500 * time.Millisecond)
		requireStatus(r, "exited")
		r.after(time.Second)
		requireStatus(r, "running")
		r.after(time.Hour)
		end() // it ran long: as the first time
		r.after(time.Second)
		requireStatus(r, "running")
		r.sees(off)
		if _, _, n := r.State(); n != 0 {
			t.Errorf("%d restarts of a VM that is off", n)
		}
	})
}

// While its VM is off, a missing container is not reported, and a started one is killed.
func TestStartedByAnotherProcess(t *testing.T) {
	inBubble(t, "exited", func(r *rig) {
		r.sees(off)
		r.external("start", func() { r.status, r.pid = "running", 7 })
		synctest.Wait()
		requireStatus(r, "exited")
		r.requireChanges()
	})
}

func TestPausedByAnotherProcess(t *testing.T) {
	inBubble(t, "running", func(r *rig) {
		r.sees()
		r.external("pause", func() { r.status = "paused" })
		synctest.Wait()
		r.require("running", node.Running, "unpause")
		r.noticed("another process paused")
		r.sees(suspended)
		r.noticed("")
		r.external("unpause", func() { r.status = "running" })
		synctest.Wait()
		r.require("paused", node.Paused, "pause", "pause")
		r.noticed("it is paused again")
		r.requireChanges(child.Started)
	})
}

// A container that was restarted has another PID: the old one exited, a new one started.
func TestRestartedByAnotherProcess(t *testing.T) {
	inBubble(t, "running", func(r *rig) {
		r.sees()
		r.external("start", func() { r.pid = 77 })
		synctest.Wait()
		r.requireChanges(child.Started, child.Exited, child.Started)
		r.require("running", node.Running)
	})
}

func TestRemovedByAnotherProcess(t *testing.T) {
	inBubble(t, "running", func(r *rig) {
		r.sees()
		r.external("destroy", func() { r.status, r.pid = "", 0 })
		synctest.Wait()
		c := r.requireChanges(child.Started, child.Exited)
		if err := c[1].Err; err == nil || !strings.Contains(err.Error(), "was removed by another process") {
			t.Errorf("%v", err)
		}
		r.noticed("was removed by another process")
		r.counted()
		r.after(time.Hour)
		if n := r.counted(); n > 125 {
			t.Errorf("%d calls in an hour", n)
		}
		r.require("", node.Stopped)
		r.sees(off)
		r.sees(bootedAgain)
		r.requireChanges()
		r.external("create", func() { r.status = "created" }) // by kind, say
		r.after(time.Minute)
		requireStatus(r, "running")
	})
}

// The daemon stops and its containers with it: reported once, retried with a back-off, and reverted.
func TestDaemonRestarted(t *testing.T) {
	inBubble(t, "running", func(r *rig) {
		r.sees()
		r.takeCalls()
		r.fake.mu.Lock()
		r.down, r.status, r.pid, r.exit = true, "exited", 0, 255
		r.fake.mu.Unlock()
		r.bells <- runtime.Event{Action: "down"}
		r.after(10 * time.Minute)
		r.noticed("nothing answers")
		if n := r.counted(); n > 60 {
			t.Errorf("%d calls in ten minutes", n)
		}
		r.requireChanges(child.Started) // not noticed yet
		r.fake.mu.Lock()
		r.down = false
		r.fake.mu.Unlock()
		r.after(time.Minute)
		requireStatus(r, "running")
		r.requireChanges(child.Exited, child.Restarting, child.Started)
		r.Observe(vm(off))
		synctest.Wait()
		requireStatus(r, "exited")
	})
}

// The VM is powered off while the daemon is away.
func TestPowerOffWithoutADaemon(t *testing.T) {
	inBubble(t, "running", func(r *rig) {
		r.sees()
		r.fake.mu.Lock()
		r.down = true
		r.fake.mu.Unlock()
		r.sees(off)
		r.after(time.Minute)
		r.fake.mu.Lock()
		r.down = false
		r.fake.mu.Unlock()
		r.after(time.Minute)
		requireStatus(r, "exited")
		r.requireChanges(child.Started, child.Stopped)
	})
}

func TestCrash(t *testing.T) {
	inBubble(t, "running", func(r *rig) {
		if err := r.Crash(r.t.Context()); !errors.Is(err, node.ErrNoGuest) {
			t.Errorf("before the VM was seen: %v", err)
		}
		r.sees()
		if err := r.Crash(r.t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		c := r.requireChanges(child.Started, child.Exited, child.Restarting, child.Started)
		if !strings.Contains(c[1].Err.Error(), "kubelet was killed") {
			t.Errorf("%v", c[1].Err)
		}
		if p, _, n := r.State(); p != node.Running || n != 1 {
			t.Errorf("%v, %d restarts", p, n)
		}
		if err := r.Restart(r.t.Context()); err != nil || !strings.Contains(r.script(), "systemctl restart kubelet") {
			t.Errorf("%v, %s", err, r.script())
		}
		r.sees(suspended)
		for _, f := range []func() error{func() error { return r.Crash(r.t.Context()) }, func() error { return r.Restart(r.t.Context()) }} {
			if err := f(); !errors.Is(err, node.ErrNoGuest) {
				t.Errorf("suspended: %v", err)
			}
		}
	})
}

// A cut lasts beyond a start of the container, and is made as soon as it can be.
func TestCut(t *testing.T) {
	inBubble(t, "running", func(r *rig) {
		r.sees()
		if err := r.Cut(true); err != nil || !r.IsCut() || !strings.Contains(r.script(), "DROP") {
			t.Errorf("silent: %v, %s", err, r.script())
		}
		if err := r.Cut(false); err != nil || !strings.Contains(r.script(), "tcp-reset") {
			t.Errorf("loud: %v, %s", err, r.script())
		}
		r.sees(off)
		if err := r.Cut(true); err != nil {
			t.Error(err)
		}
		r.sees(bootedAgain)
		if !strings.Contains(r.script(), "DROP") {
			t.Errorf("not cut after its start: %s", r.script())
		}
		r.sees(bootedAgain, suspended)
		if err := r.Restore(); err != nil || r.IsCut() {
			t.Error(err)
		}
		r.sees(bootedAgain)
		if s := r.script(); strings.Contains(s, "DROP") || !strings.Contains(s, "-X") {
			t.Errorf("not mended: %s", s)
		}
		n := len(r.scripts)
		if err := r.Restore(); err != nil || len(r.scripts) != n {
			t.Errorf("mended again: %v", err)
		}
	})
}
