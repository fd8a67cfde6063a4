package sandbox

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// twoWorkers returns a sandbox whose two VMs, worker-1 and worker-2, have that power, and what makes a node of one of
// them and says so in the log. said are the details that were shown.
func twoWorkers(t *testing.T, power ...types.VirtualMachinePowerState) (s *Sandbox, node func(n int, taints ...string), said *[]string) {
	t.Helper()
	s = idle(t)
	said = new([]string)
	s.opts.Progress = func(p Progress) { *said = append(*said, p.Detail) }
	i := world.NewInventory("vc", nil)
	vms := s.opts.Topology.Nodes()
	for n, r := range vms {
		i.Update([]vcenter.Update{{
			Kind: vcenter.Enter, Ref: ref{Type: "VirtualMachine", Value: r.VM.Name},
			Changes: []types.PropertyChange{
				{Name: "name", Val: r.VM.Name}, {Name: "config.uuid", Val: r.VM.UUID}, {Name: "runtime.powerState", Val: power[n]},
			},
		}})
	}
	s.world = world.New(s.nodes, i)
	return s, func(n int, taints ...string) {
		object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: vms[n].VM.Name}}
		object.Status.NodeInfo.SystemUUID = vms[n].VM.UUID
		object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		for _, key := range taints {
			object.Spec.Taints = append(object.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
		}
		s.world.SetNode(object)
		s.log.Append(event.Event{Kind: "node.changed"})
	}, said
}

const on, off = types.VirtualMachinePowerStatePoweredOn, types.VirtualMachinePowerStatePoweredOff

func TestWaitInitialized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, node, said := twoWorkers(t, on, on)
		done := make(chan error, 1)
		go func() { done <- s.waitInitialized(t.Context()) }()
		synctest.Wait()
		node(0, "node.cloudprovider.kubernetes.io/uninitialized")
		synctest.Wait()
		node(0, "node.kubernetes.io/not-ready")
		time.Sleep(bootTimeout - time.Second)
		node(0, "some.other/taint")
		time.Sleep(bootTimeout - time.Second) // however long it takes, as long as it gets on
		synctest.Wait()
		if len(done) > 0 {
			t.Fatalf("it has ended: %v", <-done)
		}
		node(1)
		if err := <-done; err != nil {
			t.Error(err)
		}
		const none = "0 of 2 nodes initialized and ready; waiting for worker-1, worker-2"
		want := []string{none, none, none, "1 of 2 nodes initialized and ready; waiting for worker-2"}
		if diff := cmp.Diff(want, *said); diff != "" {
			t.Errorf("said (-want +got):\n%s", diff)
		}
	})
}

func TestWaitInitializedGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, node, _ := twoWorkers(t, on, on)
		begin := time.Now()
		done := make(chan error, 1)
		go func() { done <- s.waitInitialized(t.Context()) }()
		time.Sleep(time.Minute)
		node(0)
		time.Sleep(time.Minute)
		s.log.Append(event.Event{Kind: "other"}) // which is no progress
		err := <-done
		if want := "no further node was initialized and ready within 2m0s; waiting for worker-2"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if took := time.Since(begin); took != time.Minute+bootTimeout {
			t.Errorf("gave up after %s", took)
		}
	})
}

func TestWaitInitializedIsToldToEnd(t *testing.T) {
	s, _, _ := twoWorkers(t, on, on)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrStopped)
	if err := s.waitInitialized(ctx); !errors.Is(err, ErrStopped) {
		t.Errorf("got %v", err)
	}
}

// Nobody waits for a VM that the topology wants powered off.
func TestWaitInitializedOfVMsThatAreOff(t *testing.T) {
	s, node, said := twoWorkers(t, on, off)
	node(0)
	if err := s.waitInitialized(t.Context()); err != nil || len(*said) > 0 {
		t.Errorf("%v, said %q", err, *said)
	}
}
