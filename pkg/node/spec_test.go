package node_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

var errNotPrepared = errors.New("disk full")

// unprepared returns a node none of whose boots can be prepared, with the VMs and changes that it was asked about and
// that it told. They may be read while the node is blocked.
func unprepared(t *testing.T) (n *node.Node, asked *[]node.Machine, told *[]child.Change) {
	asked, told = new([]node.Machine), new([]child.Change)
	n = node.New(node.Options{
		Spec: func(m node.Machine) (child.Spec, error) {
			*asked = append(*asked, m)
			return child.Spec{Name: "node/" + m.Hostname}, errNotPrepared
		},
		Notify: func(c child.Change) { *told = append(*told, c) },
	})
	synctest.Wait() // it has looked at the VM that is not there
	t.Cleanup(func() {
		if err := n.Stop(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return n, asked, told
}

func TestNothingIsStartedBeforeTheGuestIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, asked, _ := unprepared(t)
		for _, edit := range []func(*node.Machine){
			off, suspended, destroyed, toolsDown,
			func(m *node.Machine) { m.Power = "" },
			func(m *node.Machine) { *m = node.Machine{} },
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
		if diff := cmp.Diff([]node.Machine{vm(nil)}, *asked); diff != "" {
			t.Errorf("boots prepared (-want +got):\n%s", diff)
		}
	})
}

func TestPreparationIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, asked, told := unprepared(t)
		n.Observe(vm(nil))
		synctest.Wait()
		for range 2 {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		n.Observe(vm(off))
		synctest.Wait()
		time.Sleep(time.Minute) // there is nothing to try any more
		synctest.Wait()
		want := child.Change{Name: "node/worker-1", State: child.Exited, Err: errNotPrepared}
		if diff := cmp.Diff([]child.Change{want, want, want}, *told, cmpopts.EquateErrors()); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
		if len(*asked) != 3 {
			t.Errorf("tried %d times", len(*asked))
		}
	})
}
