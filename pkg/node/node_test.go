package node_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// The end of a boot kills the kubelet in any state; it starts again only when the VM is up.
func TestEndOfABoot(t *testing.T) {
	for name, end := range map[string]func(*node.VM){
		"off": off, "off, as told first": func(m *node.VM) { m.Power = node.Off }, "destroyed": destroyed,
	} {
		for before, stop := range map[string]func(*rig){
			"running":   func(*rig) {},
			"suspended": func(r *rig) { r.Observe(vm(suspended)) },
			"hung":      func(r *rig) { r.Hang() },
		} {
			t.Run(before+" "+name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, "run")
				pid := r.running()
				stop(r)
				r.Observe(vm(end))
				if c := r.next(child.Stopped); c.PID != pid || c.Name != "node/worker-1" || c.Err != nil {
					t.Errorf("%+v, want process %d stopped", c, pid)
				}
				r.require(node.Stopped, 0, false)
				r.requireBoots(1)

				r.Observe(vm(bootedAgain))
				pid = r.started()
				r.Observe(vm(func(m *node.VM) { bootedAgain(m); suspended(m) }))
				r.require(node.Paused, pid, true)
				r.Observe(vm(bootedAgain))
				r.require(node.Running, pid, false) // what was hung is not any more
				r.requireBoots(2)
			})
		}
	}
}

func TestSuspend(t *testing.T) {
	t.Parallel()
	r := newRig(t, "run")
	pid := r.running()
	for range 2 {
		r.Observe(vm(suspended))
		r.require(node.Paused, pid, true)
		if r.Hang() {
			t.Error("a suspended guest can be hung")
		}
		r.Observe(vm(nil))
		r.require(node.Running, pid, false)
	}
	r.requireBoots(1)
}

func TestReset(t *testing.T) {
	t.Parallel()
	r := newRig(t, "run")
	first := r.running()
	if !r.Hang() {
		t.Fatal("a running guest cannot be hung")
	}
	r.require(node.Hung, first, true)
	if r.Hang() {
		t.Error("a hung guest was hung again")
	}

	// At a reset the guest goes down first.
	r.Observe(vm(func(m *node.VM) { bootedAgain(m); toolsDown(m) }))
	if c := r.next(child.Stopped); c.PID != first {
		t.Errorf("%+v, want process %d stopped", c, first)
	}
	r.require(node.Stopped, 0, false)
	r.requireBoots(1)
	r.Observe(vm(bootedAgain))
	second := r.started()
	r.require(node.Running, second, false)

	// A watch may only tell the end of it.
	r.Observe(vm(nil))
	r.next(child.Stopped)
	if third := r.started(); third == second {
		t.Errorf("process %d again", third)
	}
	r.requireBoots(3)
}

func TestHangOutlastsSuspension(t *testing.T) {
	t.Parallel()
	r := newRig(t, "run")
	pid := r.running()
	r.Hang()
	r.require(node.Hung, pid, true)
	r.Observe(vm(suspended))
	r.require(node.Paused, pid, true)
	r.Observe(vm(nil))
	r.require(node.Hung, pid, true)
}

// What changes of a VM that runs does not touch its kubelet.
func TestOtherChangesAreIgnored(t *testing.T) {
	t.Parallel()
	r := newRig(t, "run")
	pid := r.running()
	for _, edit := range []func(*node.VM){
		toolsDown,
		func(m *node.VM) { m.CPUs = 8 },
		func(m *node.VM) { m.BootTime = m.BootTime.In(time.FixedZone("", 3600)) }, // the same moment
		func(m *node.VM) { m.BootTime = time.Time{} },                             // the vCenter lost sight of the host
	} {
		r.Observe(vm(edit))
		r.Observe(vm(suspended)) // an observation that shows, to know that the one before was followed or skipped
		r.require(node.Paused, pid, true)
		r.Observe(vm(edit))
		r.require(node.Running, pid, false)
	}
	if n := len(r.changes); n > 0 {
		t.Errorf("change %+v", <-r.changes)
	}
	r.requireBoots(1)
}

func TestCrashIsRestarted(t *testing.T) {
	t.Parallel()
	r := newRig(t, "crash")
	r.Observe(vm(nil))
	for range 3 {
		started := r.next(child.Started)
		if c := r.next(child.Exited); c.PID != started.PID || c.Err == nil {
			t.Errorf("%+v, want process %d crashed", c, started.PID)
		}
		r.next(child.Restarting)
	}
	if _, _, restarts := r.State(); restarts < 3 {
		t.Errorf("%d restarts, want 3 or more", restarts)
	}
	r.requireBoots(1) // it is the same boot of the VM

	r.Observe(vm(off))
	// Between a crash and its restart the process is gone, too: only the count shows that the power is off.
	r.until(func(p node.Process, pid, restarts int) bool { return p == node.Stopped && pid == 0 && restarts == 0 },
		"want it stopped, and no restarts after the VM was powered off")
}

// A kubelet that is killed while its VM is suspended, or its guest hangs, comes back as still as it was.
func TestCrashWhileStopped(t *testing.T) {
	for want, stop := range map[node.Process]func(*rig){
		node.Paused: func(r *rig) { r.Observe(vm(suspended)) },
		node.Hung:   func(r *rig) { r.Hang() },
	} {
		t.Run(string(want), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "run")
			pid := r.running()
			stop(r)
			r.require(want, pid, true)
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			r.next(child.Exited)
			r.next(child.Restarting)
			again := r.next(child.Started).PID
			r.require(want, again, true)
			if r.Hang() {
				t.Error("it can be hung")
			}
		})
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	r := newRig(t, "run")
	pid := r.running()
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := r.next(child.Stopped); c.PID != pid {
		t.Errorf("%+v, want process %d stopped", c, pid)
	}
	r.require(node.Stopped, 0, false)
	r.requireGone(t)

	// Afterwards nothing happens any more.
	r.Observe(vm(bootedAgain))
	if r.Hang() {
		t.Error("it can be hung")
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Errorf("second time: %v", err)
	}
	r.requireBoots(1)
}

func TestStopIsBounded(t *testing.T) {
	release := make(chan struct{})
	begun := make(chan struct{}, 1)
	n := node.New(node.Options{
		Spec: func(node.VM) (child.Spec, error) {
			begun <- struct{}{}
			<-release
			return child.Spec{}, errors.New("too late")
		},
		Notify: func(child.Change) {},
	})
	n.Observe(vm(nil))
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.Stop(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("stop: %v", err)
	}
	close(release)
	if err := n.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if p, pid, restarts := n.State(); !cmp.Equal([]any{p, pid, restarts}, []any{node.Stopped, 0, 0}) {
		t.Errorf("state %q, %d, %d", p, pid, restarts)
	}
}
