package node_test

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

var firstBoot = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// vm returns a VM whose guest has booted; edit may change it first.
func vm(edit func(*node.VM)) node.VM {
	m := node.VM{
		Exists: true, Power: node.On, BootTime: firstBoot, GuestUp: true, Hostname: "worker-1",
		UUID: "42000000-0000-4000-8000-000000000001", CPUs: 2, MemoryBytes: 4 << 30, GuestID: "ubuntu64Guest",
	}
	if edit != nil {
		edit(&m)
	}
	return m
}

func off(m *node.VM) {
	m.Power, m.BootTime, m.GuestUp, m.Hostname = node.Off, time.Time{}, false, ""
}
func suspended(m *node.VM) { m.Power = node.Suspended }
func destroyed(m *node.VM) { m.Exists = false }
func toolsDown(m *node.VM) { m.GuestUp = false }
func bootedAgain(m *node.VM) {
	m.BootTime = firstBoot.Add(time.Minute)
}

// rig is a node under test whose kubelet is this test binary.
type rig struct {
	*node.Node
	*reports
	t       *testing.T
	changes chan child.Change
	specs   atomic.Int32 // how many boots were prepared
}

// newRig starts a node whose kubelets play role.
func newRig(t *testing.T, role string) *rig {
	t.Helper()
	r := &rig{t: t, reports: newReports(t), changes: make(chan child.Change, 1000)}
	r.Node = node.New(node.Options{
		Spec: func(m node.VM) (child.Spec, error) {
			r.specs.Add(1)
			return child.Spec{
				Name:    "node/" + m.Hostname,
				Env:     append(os.Environ(), roleEnv+"="+role),
				Files:   []*os.File{r.write},
				Backoff: child.Backoff{Min: time.Millisecond, Max: 2 * time.Millisecond},
			}, nil
		},
		Notify: func(c child.Change) { r.changes <- c },
	})
	t.Cleanup(func() {
		if err := r.Stop(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
		r.requireGone(t)
	})
	return r
}

// running observes the booted VM and waits until its kubelet runs.
func (r *rig) running() (pid int) {
	r.t.Helper()
	r.Observe(vm(nil))
	return r.started()
}

// started waits until a kubelet has been started, and runs.
func (r *rig) started() (pid int) {
	r.t.Helper()
	pid = r.next(child.Started).PID
	if said := r.pid(r.t); said != pid {
		r.t.Fatalf("process %d was started, %d runs", pid, said)
	}
	return pid
}

// next returns the next change and fails when it is not into state.
func (r *rig) next(state child.State) child.Change {
	r.t.Helper()
	select {
	case c := <-r.changes:
		if c.State != state {
			r.t.Fatalf("got change %+v, want one into %q", c, state)
		}
		return c
	case <-time.After(30 * time.Second):
		r.t.Fatalf("no change into %q", state)
		return child.Change{}
	}
}

// require waits until the node is in a state with that process, stopped by a signal or not.
func (r *rig) require(want node.Process, pid int, stopped bool) {
	r.t.Helper()
	r.until(func(got node.Process, gotPID, _ int) bool {
		return got == want && gotPID == pid && (pid == 0 || isStopped(pid) == stopped)
	}, fmt.Sprintf("want %q with %d (%v)", want, pid, stopped))
}

// until waits for a state.
func (r *rig) until(is func(p node.Process, pid, restarts int) bool, want string) {
	r.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for {
		p, pid, restarts := r.State()
		if is(p, pid, restarts) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			r.t.Fatalf("is %q with process %d (stopped: %v) after %d restarts, %s", p, pid, isStopped(pid), restarts, want)
		}
	}
}

// requireBoots fails when another number of boots was prepared.
func (r *rig) requireBoots(want int32) {
	r.t.Helper()
	if n := r.specs.Load(); n != want {
		r.t.Errorf("%d boots were prepared, want %d", n, want)
	}
}
