package node_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

var errNotPrepared = errors.New("disk full")

// unprepared returns a node none of whose boots can be prepared, with the VMs that it was asked about. They may be read
// while the node is blocked.
func unprepared(t *testing.T) (n *node.Node, asked *[]node.VM) {
	asked = new([]node.VM)
	n = node.New(node.Options{
		Spec: func(m node.VM) (child.Spec, error) {
			*asked = append(*asked, m)
			return child.Spec{Name: "node/" + m.Hostname}, errNotPrepared
		},
		Notify: func(child.Change) {},
	})
	synctest.Wait() // it has looked at the VM that is not there
	t.Cleanup(func() {
		if err := n.Stop(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return n, asked
}

func TestNothingIsStartedBeforeTheGuestIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, asked := unprepared(t)
		for _, edit := range []func(*node.VM){
			off, suspended, destroyed, toolsDown,
			func(m *node.VM) { m.Power = "" },
			func(m *node.VM) { *m = node.VM{} },
		} {
			n.Observe(vm(edit))
			synctest.Wait()
			if len(*asked) > 0 {
				t.Fatalf("a boot is prepared of %+v", (*asked)[0])
			}
			if n.Hang() {
				t.Error("a guest that does not run can be hung")
			}
			synctest.Wait()
		}
		if p, pid, _ := n.State(); p != node.Stopped || pid != 0 {
			t.Errorf("is %q, process %d", p, pid)
		}
		n.Observe(vm(nil))
		synctest.Wait()
		if diff := cmp.Diff([]node.VM{vm(nil)}, *asked); diff != "" {
			t.Errorf("boots prepared (-want +got):\n%s", diff)
		}
	})
}

func TestPreparationIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var at []time.Duration // when it was tried
		tries := func() []time.Duration { mu.Lock(); defer mu.Unlock(); return slices.Clone(at) }
		begin, other, reported := time.Now(), errors.New("something else"), []error(nil)
		n := node.New(node.Options{
			Spec: func(m node.VM) (child.Spec, error) {
				mu.Lock()
				defer mu.Unlock()
				at = append(at, time.Since(begin).Round(time.Second))
				if len(at) > 9 {
					return child.Spec{Name: "node/" + m.Hostname}, other
				}
				return child.Spec{Name: "node/" + m.Hostname}, errNotPrepared
			},
			Notify: func(c child.Change) {
				if c.Name != "node/worker-1" || c.State != child.Exited || c.PID != 0 {
					t.Errorf("%+v", c)
				}
				reported = append(reported, c.Err)
			},
		})
		synctest.Wait()
		n.Observe(vm(nil))
		time.Sleep(210 * time.Second)
		synctest.Wait()
		var want []time.Duration
		for _, seconds := range []time.Duration{0, 1, 3, 7, 15, 31, 63, 123, 183} { // pauses that double, up to a minute
			want = append(want, seconds*time.Second)
		}
		if diff := cmp.Diff(want, tries()); diff != "" {
			t.Errorf("tried at (-want +got):\n%s", diff)
		}

		time.Sleep(time.Minute)
		synctest.Wait()
		// The same again is no news.
		if diff := cmp.Diff([]error{errNotPrepared, other}, reported, cmpopts.EquateErrors()); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}

		n.Observe(vm(off))
		synctest.Wait()
		before := len(tries())
		time.Sleep(time.Hour) // there is nothing to try any more
		synctest.Wait()
		if n := len(tries()) - before; n > 0 {
			t.Errorf("tried %d times after the VM was powered off", n)
		}
		if err := n.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
