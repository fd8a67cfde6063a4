package await

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// roles makes every VM a worker whose kubelet runs.
type roles struct{}

func (roles) Role(world.VM) string          { return string(topology.RoleWorker) }
func (roles) Process(world.VM) node.Process { return node.Running }

// wait is a Waiter for the two VMs of a topology.
type wait struct {
	Waiter
	world   *world.World
	details []string
	vms     []topology.VMRef
}

func twoWorkers(t *testing.T, power ...types.VirtualMachinePowerState) *wait {
	t.Helper()
	top, err := scenarios.Load("single")
	if err != nil {
		t.Fatal(err)
	}
	w := &wait{vms: top.Nodes()}
	w.Waiter = Waiter{Log: event.NewLog(0), Timeout: timeout, Detail: func(text string) { w.details = append(w.details, text) }}
	i := world.NewInventory("vc", nil)
	for n, r := range w.vms {
		i.Update([]vcenter.Update{{
			Kind: vcenter.Enter, Ref: types.ManagedObjectReference{Type: "VirtualMachine", Value: r.VM.Name},
			Changes: []types.PropertyChange{
				{Name: "name", Val: r.VM.Name}, {Name: "config.uuid", Val: r.VM.UUID}, {Name: "runtime.powerState", Val: power[n]},
			},
		}})
	}
	w.world = world.New(roles{}, i)
	return w
}

// node registers the Node of a VM with these taints.
func (w *wait) node(n int, taints ...string) {
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.vms[n].VM.Name}}
	object.Status.NodeInfo.SystemUUID = w.vms[n].VM.UUID
	object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	for _, key := range taints {
		object.Spec.Taints = append(object.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
	w.world.SetNode(object)
	w.Log.Append(event.Event{Kind: "node.changed"})
}

func (w *wait) initialized(ctx context.Context) error {
	return w.Each(ctx, Initialized(func() *world.World { return w.world }, true))
}

const timeout = 2 * time.Minute

var errStopped = errors.New("stopped")

const on, off = types.VirtualMachinePowerStatePoweredOn, types.VirtualMachinePowerStatePoweredOff

func TestInitialized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := twoWorkers(t, on, on)
		done := make(chan error, 1)
		go func() { done <- w.initialized(t.Context()) }()
		synctest.Wait()
		w.node(0, "node.cloudprovider.kubernetes.io/uninitialized")
		synctest.Wait()
		w.node(0, "node.kubernetes.io/not-ready")
		time.Sleep(timeout - time.Second)
		w.node(0, "some.other/taint")
		time.Sleep(timeout - time.Second) // the timeout restarts with each Node
		synctest.Wait()
		if len(done) > 0 {
			t.Fatalf("it has ended: %v", <-done)
		}
		w.node(1)
		if err := <-done; err != nil {
			t.Error(err)
		}
		const none = "0 of 2 nodes initialized and ready; waiting for worker-1, worker-2"
		want := []string{none, none, none, "1 of 2 nodes initialized and ready; waiting for worker-2"}
		if diff := cmp.Diff(want, w.details); diff != "" {
			t.Errorf("details (-want +got):\n%s", diff)
		}
	})
}

func TestInitializedGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := twoWorkers(t, on, on)
		begin := time.Now()
		done := make(chan error, 1)
		go func() { done <- w.initialized(t.Context()) }()
		time.Sleep(time.Minute)
		w.node(0)
		time.Sleep(time.Minute)
		w.Log.Append(event.Event{Kind: "other"}) // no progress
		err := <-done
		if want := "no further node was initialized and ready within 2m0s; waiting for worker-2"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if up, ok := errors.AsType[*GaveUpError](err); !ok || !slices.Equal(up.Waiting, []string{"worker-2"}) {
			t.Errorf("got %#v, which does not name worker-2", err)
		}
		if took := time.Since(begin); took != time.Minute+timeout {
			t.Errorf("gave up after %s", took)
		}
	})
}

func TestInitializedCanceled(t *testing.T) {
	w := twoWorkers(t, on, on)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStopped)
	if err := w.initialized(ctx); !errors.Is(err, errStopped) {
		t.Errorf("got %v", err)
	}
}

// A VM that the topology wants powered off is not counted.
func TestInitializedOfVMsThatAreOff(t *testing.T) {
	w := twoWorkers(t, on, off)
	w.node(0)
	if err := w.initialized(t.Context()); err != nil || len(w.details) > 0 {
		t.Errorf("%v, details %q", err, w.details)
	}
}
