package guest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

func volume(id string) node.Disk {
	return node.Disk{UUID: "6000c29" + id, VolumeID: id, Bytes: 1 << 30}
}

func with(ids ...string) func(*node.VM) {
	return func(m *node.VM) {
		for _, id := range ids {
			m.Disks = append(m.Disks, volume(id))
		}
	}
}

func (r *rig) requireDisks(want ...string) {
	r.t.Helper()
	if got := r.disks.has(); !slices.Equal(got, want) {
		r.t.Errorf("disks %q, want %q", got, want)
	}
}

func (r *rig) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Error(err)
	}
}

// A disk is visible when Attach returns, and an outdated observation does not undo that.
func TestAttach(t *testing.T) {
	inBubble(t, "running", func(r *rig) {
		r.sees()
		r.ok(r.Attach(r.t.Context(), volume("a")))
		r.requireDisks("a")
		if !strings.HasPrefix(r.script(), "check 6000c29a") {
			t.Errorf("the guest was not asked: %q", r.script())
		}
		r.sees() // of before
		r.requireDisks("a")
		r.sees(with("a"))
		r.ok(r.Resize(r.t.Context(), volume("a")))
		r.ok(r.Flush(r.t.Context(), volume("a")))
		r.ok(r.Detach(r.t.Context(), volume("a")))
		r.requireDisks()
		r.sees(with("a")) // of before
		r.requireDisks()
		r.sees()
		r.sees(with("a")) // attached by another client
		r.requireDisks("a")
		r.sees()
		r.requireDisks()
		r.ok(r.Detach(r.t.Context(), volume("a"))) // again
		r.ok(r.Attach(r.t.Context(), volume("a")))
		r.sees(with("a"))
		n := len(r.scripts)
		r.sees(with("a"), off)
		r.requireDisks("a") // powered off it keeps its disks
		r.ok(r.Attach(r.t.Context(), volume("b")))
		r.requireDisks("a", "b")
		if len(r.scripts) != n {
			t.Errorf("a guest that is off was asked: %q", r.script())
		}
		r.sees(destroyed)
		r.requireDisks()
	})
}

// Disks that there were before are plugged before the guest starts.
func TestDisksOfAVMThatIsFound(t *testing.T) {
	inBubble(t, "exited", func(r *rig) {
		r.sees(with("a", "b"))
		r.requireDisks("a", "b")
		r.require("running", node.Running, "start")
		if s := r.scripts; len(s) == 0 || s[0] != "sh -c prepare" {
			t.Errorf("the guest was not prepared: %q", s)
		}
		r.ok(r.Stop(r.t.Context()))
		r.requireDisks()
	})
}

// A disk that is detached while an observation makes the Guest plug it is unplugged again.
func TestDetachedWhilePlugged(t *testing.T) {
	inBubble(t, "running", func(r *rig) {
		r.sees()
		r.disks.mu.Lock()
		r.disks.slow = time.Second
		r.disks.mu.Unlock()
		r.Observe(vm(with("a")))
		synctest.Wait() // it is being plugged
		r.ok(r.Detach(r.t.Context(), volume("a")))
		r.after(2 * time.Second)
		r.requireDisks()
	})
}

// With Keep the container continues to run, with its disks.
func TestKeep(t *testing.T) {
	inBubble(t, "running", func(r *rig) {
		r.sees(with("a"))
		r.takeCalls()
		r.locked(func() { r.keep = true })
		r.ok(r.Stop(r.t.Context()))
		r.require("running", node.Running)
		r.requireDisks("a")
	})
}

func TestWithheld(t *testing.T) {
	inBubble(t, "running", func(r *rig) {
		r.sees(with("a"))
		r.WithholdLinks(true)
		r.ok(r.Attach(r.t.Context(), volume("b")))
		r.sees(with("a", "b", "c"))
		r.requireDisks("a")
		r.WithholdLinks(false)
		synctest.Wait()
		r.requireDisks("a", "b", "c")
	})
}

// A disk that cannot be plugged fails to be attached; one that is found is tried again.
func TestPlugFails(t *testing.T) {
	inBubble(t, "running", func(r *rig) {
		r.sees()
		r.disks.failing(true)
		if err := r.Attach(r.t.Context(), volume("a")); !errors.Is(err, errNoDevice) {
			t.Errorf("attach: %v", err)
		}
		r.sees(with("b"))
		r.after(time.Minute)
		r.noticed("no device is free")
		r.disks.failing(false)
		r.after(time.Minute)
		r.requireDisks("b")
	})
}

// A guest that does not see what was plugged is an error; one that cannot be asked is none.
func TestUnseen(t *testing.T) {
	inBubble(t, "running", func(r *rig) {
		r.sees()
		refuse := func(err error) {
			r.fake.mu.Lock()
			defer r.fake.mu.Unlock()
			r.fake.fail["exec"] = err
		}
		refuse(&coded.Error{Code: runtime.Failed, Message: "no such file", Err: &runtime.ExitError{Status: 1}})
		if err := r.Attach(r.t.Context(), volume("a")); !errors.Is(err, guest.ErrNotVisible) {
			t.Errorf("attach: %v", err)
		}
		r.requireDisks()
		refuse(errNotRunning)
		r.ok(r.Attach(r.t.Context(), volume("a")))
		r.requireDisks("a")

		// A disk that is there stays when the same call comes again and fails.
		ctx, cancel := context.WithCancel(r.t.Context())
		cancel()
		refuse(context.Canceled)
		if err := r.Attach(ctx, volume("a")); err == nil {
			t.Error("a canceled call says that the guest sees the disk")
		}
		r.requireDisks("a")
		r.sees(with("a"))
		r.requireDisks("a")
	})
}
