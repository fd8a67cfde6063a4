package light

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
)

const (
	leaseTime = 40 * time.Second
	renewal   = leaseTime/4 + leaseTime/100
)

func worker() feed.Guest {
	return feed.Guest{
		ID: "us/vm-1", Name: "worker-1", State: feed.Running, Boot: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		UUID: "4205a8e6-1f2c-4a1c-8f6a-1b2c3d4e5f60", CPUs: 2, MemoryBytes: 4 << 30, OSImage: "Ubuntu", Kernel: "6.8",
	}
}

// rig is a fleet at a fake API server, without pods.
type rig struct {
	*fleet
	client *fake.Clientset
	t      *testing.T
	m      feed.Guest
	back   int // how often a resync of pods was requested
}

// run runs f in a bubble of time with a fleet that works.
func run(t *testing.T, f func(*rig)) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		uids := 0
		client.PrependReactor("create", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
			uids++ // an API server gives each a UID
			a.(clienttesting.CreateAction).GetObject().(*corev1.Node).UID = types.UID(fmt.Sprint("uid-", uids))
			return false, nil, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		c := Config{Client: client, Speed: 1, LeaseDuration: leaseTime, Logger: slog.New(slog.DiscardHandler)}
		fl, err := newFleet(ctx, c, maker{version: "v1.36.4", runtime: "kwok://test"})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{fleet: fl, client: client, t: t, m: worker()}
		var mu sync.Mutex
		fl.pods = func(string) { mu.Lock(); r.back++; mu.Unlock() }
		var all sync.WaitGroup
		fl.start(ctx, &all)
		defer all.Wait()
		defer fl.end()
		defer cancel()
		synctest.Wait()
		f(r)
	})
}

// notify changes the machine in the feed.
func (r *rig) notify(change func(*feed.Guest)) {
	change(&r.m)
	r.changed(r.m)
	synctest.Wait()
}

func same(*feed.Guest) {}

func (r *rig) node() *corev1.Node {
	r.t.Helper()
	n, err := r.client.CoreV1().Nodes().Get(r.t.Context(), r.m.Name, metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

func (r *rig) lease() *coordinationv1.Lease {
	l, err := r.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(r.t.Context(), r.m.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return l
}

// age is how long ago the Lease was renewed.
func (r *rig) age() time.Duration {
	l := r.lease()
	if l == nil {
		r.t.Fatal("no lease")
	}
	return time.Since(l.Spec.RenewTime.Time)
}

// unready is what the node monitor does to a Node that it hears nothing of.
func (r *rig) unready() {
	n := r.node()
	for i := range n.Status.Conditions {
		n.Status.Conditions[i].Status = corev1.ConditionUnknown
	}
	if _, err := r.client.CoreV1().Nodes().UpdateStatus(r.t.Context(), n, metav1.UpdateOptions{}); err != nil {
		r.t.Fatal(err)
	}
	synctest.Wait()
}

// Registers as a kubelet with an external cloud provider does: what is the cloud's is left to it.
func TestRegisters(t *testing.T) {
	run(t, func(r *rig) {
		r.notify(func(m *feed.Guest) { m.ControlPlane, m.Addresses = true, []string{"10.0.0.1"} })
		n := r.node()
		if len(n.Spec.Taints) != 2 || n.Spec.Taints[0].Key != cloudproviderapi.TaintExternalCloudProvider || n.Spec.Taints[0].Value != "true" {
			t.Errorf("taints %+v", n.Spec.Taints)
		}
		if n.Spec.ProviderID != "" || len(n.Status.Addresses) != 0 || n.Labels[corev1.LabelInstanceTypeStable] != "" {
			t.Errorf("it says what is the cloud's to say: %+v", n)
		}
		info := n.Status.NodeInfo
		if info.SystemUUID != r.m.UUID || info.KubeletVersion != "v1.36.4" || info.BootID == "" || info.OSImage != "Ubuntu" {
			t.Errorf("node info %+v", info)
		}
		if !ready(n) || n.Status.Allocatable.Memory().Value() != 4<<30 || n.Status.Capacity.Cpu().Value() != 2 {
			t.Errorf("status %+v", n.Status)
		}
		l := r.lease()
		if l == nil || *l.Spec.HolderIdentity != r.m.Name || *l.Spec.LeaseDurationSeconds != 40 || l.OwnerReferences[0].UID != n.UID {
			t.Errorf("lease %+v", l)
		}
	})
}

func TestNodeIP(t *testing.T) {
	m := worker()
	m.Addresses = []string{"10.0.0.1", "10.0.0.2"}
	n := maker{nodeIP: true}.object(m, time.Now())
	if n.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr] != "10.0.0.1" || len(n.Status.Addresses) != 2 || n.Status.Addresses[0].Address != "10.0.0.1" {
		t.Errorf("annotations %v, addresses %v", n.Annotations, n.Status.Addresses)
	}
}

// A machine that is not heard of renews nothing, in whichever way it is silent; one that is heard again renews at once.
func TestLeaseFollowsTheMachine(t *testing.T) {
	for name, silence := range map[string]func(*feed.Guest){
		"stopped":   func(m *feed.Guest) { m.State = feed.Stopped },
		"suspended": func(m *feed.Guest) { m.State = feed.Suspended },
		"hung":      func(m *feed.Guest) { m.State = feed.Hung },
		"cut":       func(m *feed.Guest) { m.Cut = true },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(r *rig) {
				r.notify(same)
				time.Sleep(10 * time.Minute)
				if age := r.age(); age > renewal {
					t.Fatalf("the lease of a running machine is %s old", age)
				}
				r.notify(silence)
				before := r.lease().Spec.RenewTime
				time.Sleep(10 * time.Minute)
				if got := r.lease().Spec.RenewTime; !got.Equal(before) {
					t.Errorf("renewed at %s, after %s", got, before)
				}
				r.unready()
				time.Sleep(time.Minute)
				if ready(r.node()) {
					t.Error("says that it is ready")
				}
				r.notify(func(m *feed.Guest) { m.State, m.Cut = feed.Running, false })
				if age := r.age(); age > 0 || !ready(r.node()) {
					t.Errorf("heard again: lease %s old, ready %t", age, ready(r.node()))
				}
				if r.back == 0 {
					t.Error("its pods were not looked at")
				}
			})
		})
	}
}

// What the cloud controller manager has made of a Node is its own, also when the machine boots again.
func TestBootsAgain(t *testing.T) {
	run(t, func(r *rig) {
		r.notify(same)
		n := r.node()
		first := n.Status.NodeInfo.BootID
		n.Spec.Taints, n.Spec.ProviderID = nil, "vsphere://x"
		n.Labels[corev1.LabelTopologyZone] = "us-a"
		n.Labels[corev1.LabelHostname] = "wrong"
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}
		if _, err := r.client.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		r.notify(func(m *feed.Guest) { m.State = feed.Stopped })
		r.notify(func(m *feed.Guest) {
			m.State, m.Boot, m.CPUs = feed.Running, m.Boot.Add(time.Hour), 8
		})
		n = r.node()
		if n.Status.NodeInfo.BootID == first || n.Status.Capacity.Cpu().Value() != 8 {
			t.Errorf("boot %s as before, or %v", n.Status.NodeInfo.BootID, n.Status.Capacity)
		}
		if len(n.Spec.Taints) != 0 || n.Spec.ProviderID != "vsphere://x" || n.Labels[corev1.LabelTopologyZone] != "us-a" || len(n.Status.Addresses) != 1 {
			t.Errorf("what was the cloud's is not any more: %+v", n)
		}
		if n.Labels[corev1.LabelHostname] != "worker-1" {
			t.Errorf("hostname label %q", n.Labels[corev1.LabelHostname])
		}
	})
}

// A kubelet registers when it starts and not again, and renews no lease of a Node that there is not.
func TestNodeDeletedBehindItsBack(t *testing.T) {
	run(t, func(r *rig) {
		r.notify(same)
		gone := func() {
			t.Helper()
			if err := r.client.CoreV1().Nodes().Delete(t.Context(), r.m.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := r.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Delete(t.Context(), r.m.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Minute)
			_, err := r.client.CoreV1().Nodes().Get(t.Context(), r.m.Name, metav1.GetOptions{})
			if !apierrors.IsNotFound(err) || r.lease() != nil {
				t.Fatalf("it has registered again (%v), or has lease %v", err, r.lease())
			}
		}
		gone()
		r.notify(func(m *feed.Guest) { m.State = feed.Suspended })
		r.notify(func(m *feed.Guest) { m.State = feed.Running })
		if _, err := r.client.CoreV1().Nodes().Get(t.Context(), r.m.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("registered by a resumed kubelet: %v", err)
		}
		r.notify(func(m *feed.Guest) { m.Starts++ })
		if !ready(r.node()) || r.lease() == nil {
			t.Error("a kubelet that was restarted has not registered")
		}
		gone()
		if _, err := r.client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: r.m.Name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(11 * time.Second)
		if !ready(r.node()) || r.lease() == nil {
			t.Error("a Node that somebody else made is not kept")
		}
	})
}

// One that was called unready although its machine runs says otherwise before long, as a kubelet that looks from time to
// time; one in which nothing happens says so every five minutes.
func TestStatusIsReported(t *testing.T) {
	run(t, func(r *rig) {
		r.notify(same)
		time.Sleep(time.Minute)
		r.unready()
		time.Sleep(11 * time.Second)
		if !ready(r.node()) {
			t.Error("still unready")
		}
		r.client.ClearActions()
		time.Sleep(time.Hour)
		patches := 0
		for _, a := range r.client.Actions() {
			if a.Matches("patch", "nodes/status") {
				patches++
			}
		}
		if patches < 11 || patches > 13 {
			t.Errorf("%d reports in an hour, want 12", patches)
		}
	})
}

// In a cluster that others use, a Node of theirs that has a machine's name keeps all that it has, its Lease among it, whether
// it was there first or came when ours was deleted. The machine has its turn when that Node is gone.
func TestNodeOfOthers(t *testing.T) {
	run(t, func(r *rig) {
		r.maker.labels = map[string]string{"app.kubernetes.io/instance": "mine"}
		nodes := r.client.CoreV1().Nodes()
		theirs := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: r.m.Name, UID: "theirs", Labels: map[string]string{"app.kubernetes.io/instance": "other"}}}
		left := func(when string) {
			t.Helper()
			time.Sleep(10 * time.Minute)
			n, err := nodes.Get(t.Context(), r.m.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(theirs, n); diff != "" || r.lease() != nil {
				t.Errorf("%s (-theirs +now):\n%s\nlease %v", when, diff, r.lease())
			}
			if _, alive := r.keeps(r.m.Name); alive {
				t.Errorf("%s: its pods are played", when)
			}
		}
		come := func() {
			t.Helper()
			if err := r.client.Tracker().Add(theirs.DeepCopy()); err != nil {
				t.Fatal(err)
			}
		}
		gone := func() {
			t.Helper()
			if err := nodes.Delete(t.Context(), r.m.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			_ = r.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Delete(t.Context(), r.m.Name, metav1.DeleteOptions{}) // which may not be there
		}
		come()
		r.notify(same)
		left("there first")
		gone()
		time.Sleep(time.Minute)
		if n := r.node(); n.Labels["app.kubernetes.io/instance"] != "mine" || !ready(n) || r.lease() == nil {
			t.Errorf("not registered when the name was free: %+v", n)
		}
		gone()
		come()
		left("came later")
	})
}

func TestMachineIsGone(t *testing.T) {
	run(t, func(r *rig) {
		r.notify(same)
		r.notify(func(m *feed.Guest) { m.State = feed.Gone })
		r.client.ClearActions()
		time.Sleep(time.Hour)
		for _, a := range r.client.Actions() {
			if a.GetVerb() != "list" && a.GetVerb() != "watch" && a.GetVerb() != "get" {
				t.Errorf("%s %s", a.GetVerb(), a.GetResource().Resource)
			}
		}
		if ours, _ := r.keeps(r.m.Name); ours {
			t.Error("its name is not given up")
		}
	})
}

// Of two machines of one name, the first has it; the other one has its turn when the first is gone.
func TestTwoOfOneName(t *testing.T) {
	run(t, func(r *rig) {
		r.notify(same)
		twin := worker()
		twin.ID, twin.UUID = "us/vm-2", "other"
		r.changed(twin)
		time.Sleep(time.Minute)
		if got := r.node().Status.NodeInfo.SystemUUID; got != r.m.UUID {
			t.Errorf("the node is %s", got)
		}
		r.notify(func(m *feed.Guest) { m.State = feed.Gone })
		time.Sleep(time.Minute)
		if got := r.node().Status.NodeInfo.SystemUUID; got != "other" {
			t.Errorf("the node is %s after its machine is gone", got)
		}
	})
}

// An existing Lease of another holder is taken over; a deleted one is created again.
func TestLeaseThatIsThere(t *testing.T) {
	run(t, func(r *rig) {
		other := "somebody"
		foreign := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: r.m.Name, Namespace: corev1.NamespaceNodeLease}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &other}}
		if err := r.client.Tracker().Add(foreign); err != nil {
			t.Fatal(err)
		}
		r.notify(same)
		if l := r.lease(); *l.Spec.HolderIdentity != r.m.Name {
			t.Errorf("held by %s", *l.Spec.HolderIdentity)
		}
		if err := r.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Delete(t.Context(), r.m.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(renewal)
		if r.lease() == nil {
			t.Error("not created again")
		}
	})
}

func TestConfig(t *testing.T) {
	c, err := Config{}.complete()
	if err != nil || c.Speed != 1 || c.LeaseDuration != pace.Speed(1).Of(pace.NodeLease) {
		t.Errorf("%+v, %v", c, err)
	}
	for _, bad := range []Config{{Speed: 0.5}, {LeaseDuration: 1500 * time.Millisecond}, {LeaseDuration: -time.Second}} {
		if _, err := bad.complete(); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

func TestBootIDs(t *testing.T) {
	m := worker()
	again := m
	again.Boot = m.Boot.Add(time.Second)
	other := m
	other.ID = "eu/vm-1"
	if bootID(m) != bootID(worker()) || bootID(m) == bootID(again) || bootID(m) == bootID(other) {
		t.Error("boot IDs do not tell boots apart, or tell apart what is one")
	}
}
