package clusterwatch

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/background"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/storage"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/watchcache"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// watch returns a watch of the vCenters us and eu with an empty world, in which worker-1 is the VM us/w1.
func watch(t *testing.T) *Watch {
	t.Helper()
	top, err := scenarios.Load("zones-us-eu")
	if err != nil {
		t.Fatal(err)
	}
	log, w, cache := event.NewLog(0), world.New(nil), &watchcache.Cache{}
	causes := &causality.Finder{
		Log: log, Grace: 4 * time.Second, Topology: func() *topology.Topology { return top },
		Lease: func(string) (fault.Lease, bool) { return fault.Lease{}, false },
		VM: func(node string) (vcenter, vm string) {
			if node == "worker-1" {
				return "us", "w1"
			}
			return "", ""
		},
	}
	return &Watch{
		Ground: func() ground.Ground { return nil }, World: func() *world.World { return w }, Topology: causes.Topology,
		Log: log, Logger: slog.New(slog.DiscardHandler), Causes: causes, Cache: cache, Background: &background.Groups{},
		Storage:  &storage.Watcher{Log: log, Causes: causes, Cache: cache},
		Role:     func(string) topology.Role { return topology.RoleWorker },
		Identity: func() {},
	}
}

// requireEvents compares what was appended to the log after an event, but for numbers and times.
func requireEvents(t *testing.T, log *event.Log, after uint64, want ...event.Event) {
	t.Helper()
	got, _ := log.Read(after, 0)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(event.Event{}, "Seq", "Time"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
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
		{"registered", nil, testNode(taints("uninitialized", "not-ready"), readyIs("False")), []said{
			{"node.registered", event.Info, "registered, uninitialized, not-ready", started},
			{"node.not-ready", event.Warning, "Ready=False", suspended},
		}},
		{"registered without a taint", nil, testNode(), []said{{"node.registered", event.Info, "registered", started}}},
		{"known when the watch begins", nil, testNode(readyIs("True"), func(n *corev1.Node) { n.Spec.ProviderID = "vsphere://x" }), []said{
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
			w := watch(t)
			h := recent(w.Log)
			identities, wanted := 0, 0
			w.Identity = func() { identities++ }
			if tc.old == nil || tc.old.Spec.ProviderID != tc.new.Spec.ProviderID {
				wanted = 1
			}
			w.NodeChanged(tc.old, tc.new, false)
			if identities != wanted {
				t.Errorf("%d changes of the identity, want %d", identities, wanted)
			}
			var want []event.Event
			for _, e := range tc.want {
				var cause uint64
				if e.cause != nil {
					cause = e.cause(h)
				}
				want = append(want, event.Event{
					Plane: event.PlaneKubernetes, Level: e.level, Kind: e.kind, Message: e.message,
					Object: event.Object{Kind: "Node", Name: "worker-1"}, Cause: cause,
				})
			}
			requireEvents(t, w.Log, h.last, want...)
			if nodes := w.World().Nodes(); len(nodes) != 1 || nodes[0].Name != "worker-1" {
				t.Errorf("the world has %+v", nodes)
			}
		})
	}
}

func TestNodeDeleted(t *testing.T) {
	w := watch(t)
	w.World().SetNode(testNode())
	destroyed := w.Log.Append(event.Event{Plane: event.PlaneVSphere, Kind: "vm.destroyed", Object: event.Object{Kind: "VM", VCenter: "us", Name: "w1"}})
	w.NodeChanged(nil, testNode(), true)
	requireEvents(t, w.Log, destroyed, event.Event{
		Plane: event.PlaneKubernetes, Level: event.Warning, Kind: "node.deleted", Message: "Node object deleted",
		Object: event.Object{Kind: "Node", Name: "worker-1"}, Cause: destroyed,
	})
	if nodes := w.World().Nodes(); len(nodes) > 0 {
		t.Errorf("the world still has %+v", nodes)
	}
}

func TestEventsOfTheProvider(t *testing.T) {
	ours := corev1.EventSource{Component: ccm.EventSource}
	for _, tc := range []struct {
		name string
		e    corev1.Event
		want []event.Event
	}{
		{name: "of somebody else", e: corev1.Event{Source: corev1.EventSource{Component: "kubelet"}, Reason: "Starting"}},
		{
			name: "a warning about a node", e: corev1.Event{
				Source: ours, Type: corev1.EventTypeWarning, Reason: "ZoneTagMissing", Message: "no tag",
				InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "worker-1"},
			},
			want: []event.Event{{
				Plane: event.PlaneKubernetes, Level: event.Warning, Kind: "ccm.zone-tag-missing",
				Object: event.Object{Kind: "Node", Name: "worker-1"}, Message: "no tag",
			}},
		},
		{
			name: "of a vCenter", e: corev1.Event{
				Source: ours, Type: corev1.EventTypeNormal, Reason: "VCenterConnected", Message: "vCenter us (127.0.0.1): connected",
				InvolvedObject: corev1.ObjectReference{Kind: "Secret", Name: cloudconfig.Secret},
			},
			want: []event.Event{{
				Plane: event.PlaneKubernetes, Level: event.Info, Kind: "ccm.vcenter-connected",
				Object: event.Object{Kind: "VCenter", VCenter: "us", Name: "us"}, Message: "vCenter us (127.0.0.1): connected",
			}},
		},
		{
			name: "of a section that is not called as a vCenter", e: corev1.Event{
				Source: ours, Type: corev1.EventTypeNormal, Reason: "VCenterConnected", Message: "vCenter u (127.0.0.1): connected",
				InvolvedObject: corev1.ObjectReference{Kind: "Secret", Name: cloudconfig.Secret},
			},
			want: []event.Event{{
				Plane: event.PlaneKubernetes, Level: event.Info, Kind: "ccm.vcenter-connected",
				Object: event.Object{Kind: "VCenter", Name: "u"}, Message: "vCenter u (127.0.0.1): connected",
			}},
		},
		{
			name: "in the newer way", e: corev1.Event{ReportingController: ccm.EventSource, Type: corev1.EventTypeNormal, Reason: "Found", Message: "it"},
			want: []event.Event{{Plane: event.PlaneKubernetes, Level: event.Info, Kind: "ccm.found", Message: "it"}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := watch(t)
			w.event(&tc.e)
			requireEvents(t, w.Log, 0, tc.want...)
		})
	}
}
