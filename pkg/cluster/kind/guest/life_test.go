package guest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// Until an observation has shown its VM, the container is not touched.
func TestNothingBeforeTheVM(t *testing.T) {
	for _, status := range []string{"running", "exited", ""} {
		inBubble(t, status, func(r *rig) {
			r.after(time.Hour)
			if calls := r.counted(); calls > 0 {
				t.Errorf("%d calls", calls)
			}
			requireStatus(r, status)
			r.requireChanges()
		})
	}
}

func requireStatus(r *rig, status string) {
	r.t.Helper()
	if is := r.is(); is != status {
		r.t.Errorf("container is %q, want %q", is, status)
	}
}

// A container that runs is taken over as it is; one that does not is started when the guest is up.
func TestFirstSight(t *testing.T) {
	for _, tt := range []struct {
		name, status string
		edits        []func(*node.VM)
		want         string
		process      node.Process
		calls        []string
	}{
		{"runs", "running", nil, "running", node.Running, nil},
		{"runs, tools down", "running", []func(*node.VM){toolsDown}, "running", node.Running, nil},
		{"runs, suspended", "running", []func(*node.VM){suspended}, "paused", node.Paused, []string{"pause"}},
		{"runs, off", "running", []func(*node.VM){off}, "exited", node.Stopped, []string{"stop"}},
		{"made", "created", nil, "running", node.Running, []string{"start"}},
		{"ended", "exited", nil, "running", node.Running, []string{"start"}},
		{"ended, tools down", "exited", []func(*node.VM){toolsDown}, "exited", node.Stopped, nil},
		{"ended, off", "exited", []func(*node.VM){off}, "exited", node.Stopped, nil},
		{"ended, suspended", "exited", []func(*node.VM){suspended}, "exited", node.Stopped, nil},
		{"paused", "paused", nil, "running", node.Running, []string{"unpause"}},
		{"paused, suspended", "paused", []func(*node.VM){suspended}, "paused", node.Paused, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, tt.status, func(r *rig) {
				r.sees(tt.edits...)
				r.require(tt.want, tt.process, tt.calls...)
				r.noticed("")
			})
		})
	}
}

// The end of a boot kills the container in any state; it starts again only when the guest is up.
func TestEndOfABoot(t *testing.T) {
	for name, end := range map[string]func(*node.VM){"off": off, "off, power only": func(m *node.VM) { m.Power = node.Off }} {
		for before, still := range map[string]func(*rig){
			"running":   func(*rig) {},
			"suspended": func(r *rig) { r.sees(suspended) },
			"hung":      func(r *rig) { r.Hang(); synctest.Wait() },
		} {
			t.Run(before+" "+name, func(t *testing.T) {
				inBubble(t, "running", func(r *rig) {
					r.sees()
					still(r)
					r.takeCalls()
					r.requireChanges(child.Started)
					r.sees(end)
					r.require("exited", node.Stopped, "kill")
					if c := r.requireChanges(child.Stopped)[0]; c.Err != nil || c.PID == 0 {
						t.Errorf("%+v", c)
					}
					r.after(time.Hour)
					r.require("exited", node.Stopped)
					r.sees(bootedAgain, toolsDown)
					r.require("exited", node.Stopped)
					r.sees(bootedAgain)
					r.require("running", node.Running, "start") // what was hung is not any more
					r.requireChanges(child.Started)
				})
			})
		}
	}
}

// A guest that was down before its VM was has shut itself down.
func TestShutdown(t *testing.T) {
	inBubble(t, "running", func(r *rig) {
		r.sees()
		r.sees(toolsDown)
		r.require("running", node.Running)
		r.sees(off)
		r.require("exited", node.Stopped, "stop")
		r.requireChanges(child.Started, child.Stopped)
	})
}

// Some runtimes do not kill a paused container: it is unpaused first.
func TestPowerOffOfASuspendedOne(t *testing.T) {
	inBubble(t, "running", func(r *rig) {
		r.stubborn = true
		r.sees(suspended)
		r.sees(off)
		r.require("exited", node.Stopped, "pause", "kill", "unpause", "kill")
	})
}

func TestReset(t *testing.T) {
	inBubble(t, "running", func(r *rig) {
		r.sees()
		if !r.Hang() {
			t.Fatal("a running guest cannot be hung")
		}
		synctest.Wait()
		r.require("paused", node.Hung, "pause")
		if r.Hang() {
			t.Error("a hung guest was hung again")
		}
		r.sees(bootedAgain, toolsDown) // the guest goes down first
		r.require("exited", node.Stopped, "kill")
		r.sees(bootedAgain)
		r.require("running", node.Running, "start")
		r.sees(func(m *node.VM) { m.BootTime = firstBoot.Add(time.Hour) }) // a watch may only tell the end of it
		r.require("running", node.Running, "kill", "start")
		r.requireChanges(child.Started, child.Stopped, child.Started, child.Stopped, child.Started)
		r.sees(func(m *node.VM) { m.BootTime = time.Time{} }, toolsDown) // the vCenter has lost sight of the host
		r.sees(func(m *node.VM) { m.BootTime = firstBoot.Add(time.Hour) })
		r.require("running", node.Running)
	})
}

func TestHang(t *testing.T) {
	inBubble(t, "running", func(r *rig) {
		r.sees()
		r.Hang()
		r.sees(suspended)
		r.require("paused", node.Paused, "pause")
		if r.Hang() {
			t.Error("a suspended guest can be hung")
		}
		r.sees()
		r.require("paused", node.Hung)
		r.Unhang()
		synctest.Wait()
		r.require("running", node.Running, "unpause")
	})
}

// After the loss of the host's power the guest is gone until another boot, independent of what the vCenter shows.
func TestDie(t *testing.T) {
	inBubble(t, "running", func(r *rig) {
		r.sees()
		r.Die()
		synctest.Wait()
		r.require("exited", node.Stopped, "kill")
		r.after(time.Hour)
		r.sees()
		r.sees(suspended)
		r.sees()
		r.require("exited", node.Stopped)
		r.sees(bootedAgain)
		r.require("running", node.Running, "start")
		r.Die()
		r.sees(bootedAgain, off)
		r.sees(bootedAgain) // seen powered off between
		r.require("running", node.Running, "kill", "start")
	})
}

// The container of a VM that is gone does not run; one that comes back has it, and so has the next VM of that node, with what
// identity it has then.
func TestDestroyed(t *testing.T) {
	inBubble(t, "running", func(r *rig) {
		r.sees()
		r.sees(destroyed)
		r.require("exited", node.Stopped, "kill")
		r.requireChanges(child.Started, child.Stopped)
		r.sees(bootedAgain, another)
		r.require("running", node.Running, "start")
		if r.identity != anotherUUID {
			t.Errorf("it starts as %q", r.identity)
		}
	})
	inBubble(t, "running", func(r *rig) { // Stop comes at once, as when a VM is retired
		r.sees()
		r.Observe(vm(destroyed))
		if err := r.Stop(r.t.Context()); err != nil {
			t.Error(err)
		}
		requireStatus(r, "exited")
	})
}

// A VM whose identity cannot be written is not started as another one.
func TestNotIdentified(t *testing.T) {
	inBubble(t, "exited", func(r *rig) {
		r.unidentified = errors.New("disk full")
		r.sees()
		r.require("exited", node.Stopped)
		r.noticed("power on: disk full")
	})
}

// Stop is the loss of power, for good; what it leaves is removed with the cluster.
func TestStop(t *testing.T) {
	inBubble(t, "running", func(r *rig) {
		r.sees()
		if err := r.Stop(r.t.Context()); err != nil {
			t.Error(err)
		}
		r.require("exited", node.Stopped, "kill")
		r.requireChanges(child.Started, child.Stopped)
		r.sees(bootedAgain)
		r.require("exited", node.Stopped)
		if r.Hang() {
			t.Error("it can be hung")
		}
		for _, f := range []func() error{
			func() error { return r.Crash(r.t.Context()) }, func() error { return r.Restart(r.t.Context()) }, r.Restore,
		} {
			if err := f(); !errors.Is(err, child.ErrStopped) {
				t.Errorf("after it was stopped: %v", err)
			}
		}
	})
	inBubble(t, "running", func(r *rig) {
		r.fake.took = time.Minute / 2
		r.Observe(vm(off))
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
		defer cancel()
		if err := r.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stop, while the runtime takes its time: %v", err)
		}
	})
}

// A failed call is retried with a back-off and reported once.
func TestTriedAgain(t *testing.T) {
	inBubble(t, "exited", func(r *rig) {
		r.fake.mu.Lock()
		r.fake.fail["start"] = errors.New("no space left on device")
		r.fake.mu.Unlock()
		r.sees()
		r.after(10 * time.Minute)
		if n := r.counted(); n < 10 || n > 100 {
			t.Errorf("%d calls in ten minutes", n)
		}
		r.noticed("power on: no space left on device")
		r.fake.mu.Lock()
		delete(r.fake.fail, "start")
		r.fake.mu.Unlock()
		r.after(time.Minute)
		requireStatus(r, "running")
		r.requireChanges(child.Started)
	})
}

// One that is in line costs next to nothing.
func TestQuiet(t *testing.T) {
	inBubble(t, "running", func(r *rig) {
		r.sees()
		r.counted()
		r.after(time.Hour)
		if n := r.counted(); n > 125 {
			t.Errorf("%d calls in an hour", n)
		}
	})
}

func TestOptions(t *testing.T) {
	notify := func(child.Change) {}
	for want, o := range map[string]guest.Options{
		"Container is empty": {Runtime: newFake(""), Notify: notify},
		"Runtime is nil":     {Container: "c", Notify: notify},
		"Notify is nil":      {Container: "c", Runtime: newFake("")},
		"ByID":               {Container: "c", Runtime: newFake(""), Notify: notify, Disks: &fakeDisks{}},
	} {
		if _, err := guest.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
