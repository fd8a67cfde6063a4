package sandbox

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// joined returns a sandbox with an empty world in which worker-1 is the kubelet of the VM us/w1.
func joined(t *testing.T) *Sandbox {
	t.Helper()
	s := idle(t)
	s.world = world.New(s.nodes)
	addWorker(t, s, world.VM{VM: api.VM{VCenter: "us", Name: "w1"}}, func(ground.Node) node.Guest { return noGuest{} })
	return s
}

// history is what has happened to worker-1 and its VM before its object changes, and to others after that: the numbers
// of events.
type history struct{ started, suspended, last uint64 }

func recent(log *event.Log) history {
	kubelet := func(name string) uint64 {
		return log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "child.started", Object: event.Object{Kind: "Node", Name: name}})
	}
	vm := func(vcenter, name string) uint64 {
		return log.Append(event.Event{Plane: event.PlaneVSphere, Kind: "vm.suspended", Object: event.Object{Kind: "VM", VCenter: vcenter, Name: name}})
	}
	h := history{started: kubelet("worker-1"), suspended: vm("us", "w1")}
	kubelet("worker-2")
	vm("us", "w2")
	h.last = vm("eu", "w1")
	return h
}

func testNode(edits ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}}
	for _, edit := range edits {
		edit(n)
	}
	return n
}

func readyIs(status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	}
}

func taints(keys ...string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		for _, key := range keys {
			n.Spec.Taints = append(n.Spec.Taints,
				corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule}, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute})
		}
	}
}

func labels(m map[string]string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels = m }
}

func TestNodeChanges(t *testing.T) {
	type said struct {
		kind    string
		level   event.Level
		message string
		cause   func(history) uint64 // nil: none is known
	}
	started := func(h history) uint64 { return h.started }
	suspended := func(h history) uint64 { return h.suspended }
	first := func(h history) uint64 { return h.last + 1 } // the first event that the change itself makes
	for _, tc := range []struct {
		name     string
		old, new *corev1.Node
		want     []said
	}{
		{"nothing a person would notice", testNode(readyIs("True")), testNode(readyIs("True"), labels(map[string]string{"a": "b"})), nil},
		{"registered", &corev1.Node{}, testNode(taints("uninitialized", "not-ready"), readyIs("False")), []said{
			{"node.registered", event.Info, "registered, uninitialized, not-ready", started},
			{"node.not-ready", event.Warning, "Ready=False", suspended},
		}},
		{"registered without a taint", &corev1.Node{}, testNode(), []said{{"node.registered", event.Info, "registered", started}}},
		{"known when the watch begins", &corev1.Node{}, testNode(readyIs("True"), func(n *corev1.Node) { n.Spec.ProviderID = "vsphere://x" }), []said{
			{"node.registered", event.Info, "registered", started},
			{"node.ready", event.Info, "Ready", started},
			{"node.provider-id", event.Info, "providerID vsphere://x", first},
		}},
		{"ready", testNode(readyIs("False"), taints("not-ready")), testNode(readyIs("True")), []said{
			{"node.ready", event.Info, "Ready", started}, {"node.untainted", event.Info, "taint not-ready is gone", first},
		}},
		{"not ready", testNode(readyIs("True")), testNode(readyIs("False")), []said{{"node.not-ready", event.Warning, "Ready=False", suspended}}},
		{"silent", testNode(readyIs("True")), testNode(readyIs("Unknown"), taints("unreachable")), []said{
			{"node.unknown", event.Warning, "Ready=Unknown: no heartbeat within the grace period", suspended},
			{"node.tainted", event.Warning, "taint unreachable", first},
		}},
		{"initialized", testNode(taints("uninitialized", "other")), testNode(taints("other"), func(n *corev1.Node) { n.Spec.ProviderID = "vsphere://x" },
			labels(map[string]string{corev1.LabelTopologyRegion: "us", corev1.LabelTopologyZone: "us-1"})), []said{
			{"node.provider-id", event.Info, "providerID vsphere://x", nil},
			{"node.labelled", event.Info, "topology.kubernetes.io/region=us", nil},
			{"node.labelled", event.Info, "topology.kubernetes.io/zone=us-1", nil},
			{"node.untainted", event.Info, "taint uninitialized is gone", nil},
		}},
		{"tainted", testNode(taints("a")), testNode(taints("a", "b", "c")), []said{
			{"node.tainted", event.Warning, "taint b", nil}, {"node.tainted", event.Warning, "taint c", nil},
		}},
		{
			"initialized, by a taint that is known", testNode(taints(cloudproviderapi.TaintExternalCloudProvider)),
			testNode(func(n *corev1.Node) { n.Spec.ProviderID = "vsphere://x" }),
			[]said{
				{"node.provider-id", event.Info, "providerID vsphere://x", nil},
				{"node.untainted", event.Info, "taint " + cloudproviderapi.TaintExternalCloudProvider + " is gone", first},
			},
		},
		{"one effect of two", testNode(taints("a")), testNode(func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoExecute}}
		}), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := joined(t)
			h := recent(s.log)
			s.nodeChanged(tc.old, tc.new)
			var want []event.Event
			for _, w := range tc.want {
				var cause uint64
				if w.cause != nil {
					cause = w.cause(h)
				}
				want = append(want, event.Event{
					Plane: event.PlaneKubernetes, Level: w.level, Kind: w.kind, Message: w.message,
					Object: event.Object{Kind: "Node", Name: "worker-1"}, Cause: cause,
				})
			}
			requireEvents(t, s.log, h.last, want...)
			if nodes := s.world.Nodes(); len(nodes) != 1 || nodes[0].Name != "worker-1" {
				t.Errorf("the world has %+v", nodes)
			}
		})
	}
}

func TestNodeDeleted(t *testing.T) {
	s := joined(t)
	s.world.SetNode(testNode())
	destroyed := s.log.Append(event.Event{Plane: event.PlaneVSphere, Kind: "vm.destroyed", Object: event.Object{Kind: "VM", VCenter: "us", Name: "w1"}})
	s.nodeDeleted(testNode())
	requireEvents(t, s.log, destroyed, event.Event{
		Plane: event.PlaneKubernetes, Level: event.Warning, Kind: "node.deleted", Message: "Node object deleted",
		Object: event.Object{Kind: "Node", Name: "worker-1"}, Cause: destroyed,
	})
	if nodes := s.world.Nodes(); len(nodes) > 0 {
		t.Errorf("the world still has %+v", nodes)
	}
}
