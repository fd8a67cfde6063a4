package node_test

import (
	"context"
	"errors"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// A kubelet that crashes is started again, in the same boot and in the state in which the machine is.
func TestCrash(t *testing.T) {
	t.Parallel()
	r := newRig(t, "run")
	first := r.running()
	if err := r.Crash(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := r.next(child.Exited); c.PID != first {
		t.Errorf("%+v, want process %d gone", c, first)
	}
	r.next(child.Restarting)
	second := r.started()
	r.require(node.Running, second, false)

	r.Hang()
	r.require(node.Hung, second, true)
	if err := r.Crash(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.next(child.Exited)
	r.next(child.Restarting)
	r.require(node.Hung, r.next(child.Started).PID, true)
	r.requireBoots(1)
}

func TestRestart(t *testing.T) {
	t.Parallel()
	r := newRig(t, "run")
	first := r.running()
	if err := r.Node.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := r.next(child.Restarting); c.PID != first || c.Backoff != 0 {
		t.Errorf("%+v, want process %d ended", c, first)
	}
	r.require(node.Running, r.started(), false)
	r.requireBoots(1)

	r.Hang()
	r.require(node.Hung, r.pidNow(), true)
	if err := r.Node.Restart(t.Context()); !errors.Is(err, node.ErrNoGuest) {
		t.Errorf("hung: %v", err)
	}
}

// pidNow is the process's ID.
func (r *rig) pidNow() int {
	_, pid, _ := r.State()
	return pid
}

func TestUnhang(t *testing.T) {
	t.Parallel()
	r := newRig(t, "run")
	pid := r.running()
	r.Unhang()
	r.require(node.Running, pid, false)
	r.Hang()
	r.require(node.Hung, pid, true)
	for range 2 {
		r.Unhang()
		r.require(node.Running, pid, false)
	}
	r.Observe(vm(suspended))
	r.require(node.Paused, pid, true)
	r.Unhang()
	r.require(node.Paused, pid, true)
}

func TestWhatNeedsAGuest(t *testing.T) {
	t.Parallel()
	r := newRig(t, "run")
	do := map[string]func(context.Context) error{"crash": r.Crash, "restart": r.Node.Restart}
	for name, f := range do {
		if err := f(t.Context()); !errors.Is(err, node.ErrNoGuest) {
			t.Errorf("%s of a VM that is off: %v", name, err)
		}
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, f := range do {
		if err := f(t.Context()); !errors.Is(err, child.ErrStopped) {
			t.Errorf("%s after the end: %v", name, err)
		}
	}
}
