package sandbox

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// joined returns a sandbox with an empty world in which worker-1 is the kubelet of the VM us/w1, and an event of that VM
// that has the number cause.
func joined(t *testing.T) (s *Sandbox, cause uint64) {
	t.Helper()
	s = idle(t)
	s.world = world.New(s)
	s.nodes.bound["worker-1"] = bound{vcenter: "us", vm: "w1"}
	cause = s.log.Append(event.Event{Plane: event.PlaneVSphere, Kind: "vm.powered-off", Object: event.Object{Kind: "VM", VCenter: "us", Name: "w1"}})
	s.log.Append(event.Event{Plane: event.PlaneVSphere, Kind: "vm.powered-off", Object: event.Object{Kind: "VM", VCenter: "eu", Name: "w1"}})
	s.log.Append(event.Event{Plane: event.PlaneVSphere, Kind: "vm.powered-off", Object: event.Object{Kind: "VM", VCenter: "us", Name: "w2"}})
	s.log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "child.exited", Object: event.Object{Kind: "Node", Name: "worker-2"}})
	return s, cause
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
	}
	for _, tc := range []struct {
		name     string
		old, new *corev1.Node
		want     []said
	}{
		{"nothing a person would notice", testNode(readyIs("True")), testNode(readyIs("True"), labels(map[string]string{"a": "b"})), nil},
		{"registered", &corev1.Node{}, testNode(taints("uninitialized", "not-ready"), readyIs("False")), []said{
			{"node.registered", event.Info, "registered, uninitialized, not-ready"},
			{"node.not-ready", event.Warning, "Ready=False"},
		}},
		{"registered without a taint", &corev1.Node{}, testNode(), []said{{"node.registered", event.Info, "registered"}}},
		{"known when the watch begins", &corev1.Node{}, testNode(readyIs("True"), func(n *corev1.Node) { n.Spec.ProviderID = "vsphere://x" }), []said{
			{"node.registered", event.Info, "registered"}, {"node.ready", event.Info, "Ready"}, {"node.provider-id", event.Info, "providerID vsphere://x"},
		}},
		{"ready", testNode(readyIs("False")), testNode(readyIs("True")), []said{{"node.ready", event.Info, "Ready"}}},
		{"not ready", testNode(readyIs("True")), testNode(readyIs("False")), []said{{"node.not-ready", event.Warning, "Ready=False"}}},
		{"silent", testNode(readyIs("True")), testNode(readyIs("Unknown")), []said{
			{"node.unknown", event.Warning, "Ready=Unknown: no heartbeat within the grace period"},
		}},
		{"initialized", testNode(taints("uninitialized", "other")), testNode(taints("other"), func(n *corev1.Node) { n.Spec.ProviderID = "vsphere://x" },
			labels(map[string]string{corev1.LabelTopologyRegion: "us", corev1.LabelTopologyZone: "us-1"})), []said{
			{"node.provider-id", event.Info, "providerID vsphere://x"},
			{"node.labelled", event.Info, "topology.kubernetes.io/region=us"},
			{"node.labelled", event.Info, "topology.kubernetes.io/zone=us-1"},
			{"node.untainted", event.Info, "taint uninitialized is gone"},
		}},
		{"tainted", testNode(taints("a")), testNode(taints("a", "b", "c")), []said{
			{"node.tainted", event.Warning, "taint b"}, {"node.tainted", event.Warning, "taint c"},
		}},
		{"one effect of two", testNode(taints("a")), testNode(func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoExecute}}
		}), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, cause := joined(t)
			last := s.log.Last()
			s.nodeChanged(tc.old, tc.new)
			var want []event.Event
			for _, w := range tc.want {
				want = append(want, event.Event{
					Plane: event.PlaneKubernetes, Level: w.level, Kind: w.kind, Message: w.message,
					Object: event.Object{Kind: "Node", Name: "worker-1"}, Cause: cause,
				})
			}
			requireEvents(t, s.log, last, want...)
			if nodes := s.world.Nodes(); len(nodes) != 1 || nodes[0].Name != "worker-1" {
				t.Errorf("the world has %+v", nodes)
			}
		})
	}
}

func TestNodeDeleted(t *testing.T) {
	s, cause := joined(t)
	s.world.SetNode(testNode())
	last := s.log.Last()
	s.nodeDeleted(testNode())
	requireEvents(t, s.log, last, event.Event{
		Plane: event.PlaneKubernetes, Level: event.Warning, Kind: "node.deleted", Message: "Node object deleted",
		Object: event.Object{Kind: "Node", Name: "worker-1"}, Cause: cause,
	})
	if nodes := s.world.Nodes(); len(nodes) > 0 {
		t.Errorf("the world still has %+v", nodes)
	}
}

// The newest thing that happened to the VM or to the kubelet is the cause; a node of which no VM is known has none.
func TestCauseOfANode(t *testing.T) {
	s, cause := joined(t)
	if got := s.causeOf(testNode()); got != cause {
		t.Errorf("cause %d, want %d, that of the VM", got, cause)
	}
	crash := s.log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "child.exited", Object: event.Object{Kind: "Node", Name: "worker-1"}})
	s.log.Append(event.Event{Plane: event.PlaneKubernetes, Kind: "node.not-ready", Object: event.Object{Kind: "Node", Name: "worker-1"}})
	if got := s.causeOf(testNode()); got != crash {
		t.Errorf("cause %d, want %d, that of the kubelet", got, crash)
	}
	if got := s.causeOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "stranger"}}); got != 0 {
		t.Errorf("a stranger's cause is %d", got)
	}
	for range 600 {
		s.log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "other"})
	}
	if got := s.causeOf(testNode()); got != 0 {
		t.Errorf("cause %d, which is long ago", got)
	}
}

func TestClusterEvents(t *testing.T) {
	for _, tc := range []struct {
		name string
		e    corev1.Event
		want []event.Event
	}{
		{name: "of somebody else", e: corev1.Event{Source: corev1.EventSource{Component: "kubelet"}, Reason: "Starting"}},
		{
			name: "a warning of the provider", e: corev1.Event{
				Source: corev1.EventSource{Component: ccmEventSource}, Type: corev1.EventTypeWarning, Reason: "NoZone", Message: "no tag",
				InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "worker-1"},
			},
			want: []event.Event{{
				Plane: event.PlaneKubernetes, Level: event.Warning, Kind: "ccm.event", Object: event.Object{Kind: "Node", Name: "worker-1"}, Message: "NoZone: no tag",
			}},
		},
		{
			name: "in the newer way", e: corev1.Event{ReportingController: ccmEventSource, Type: corev1.EventTypeNormal, Reason: "Found", Message: "it"},
			want: []event.Event{{Plane: event.PlaneKubernetes, Level: event.Info, Kind: "ccm.event", Message: "Found: it"}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := idle(t)
			s.clusterEvent(&tc.e)
			requireEvents(t, s.log, 0, tc.want...)
		})
	}
}
