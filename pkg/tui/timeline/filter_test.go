package timeline

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

func TestFilter(t *testing.T) {
	off := event.Event{
		Seq: 72, Cause: 71, Plane: event.PlaneVSphere, Level: event.Warning, Kind: "vm.powered-off",
		Object: event.Object{Kind: "VM", VCenter: "us", Name: "worker-1"}, Message: "powered off by Administrator",
	}
	attached := event.Event{
		Seq: 80, Plane: event.PlaneKubernetes, Level: event.Info, Kind: "attachment.attached",
		Object: event.Object{Kind: "VolumeAttachment", Name: "pvc-1 at worker-1"}, Message: "Angehängt",
	}
	pod := event.Event{Seq: 81, Plane: event.PlaneKubernetes, Level: event.Error, Kind: "pod.created", Object: event.Object{Kind: "Pod", Name: "default/web-0"}}
	unreachable := event.Event{Plane: event.PlaneKubernetes, Level: event.Warning, Kind: "ccm.vcenter-unreachable", Object: event.Object{Kind: "VCenter", Name: "us"}}
	for _, tc := range []struct {
		filter string
		e      event.Event
		want   bool
	}{
		{"", off, true},
		{"   ", off, true},
		{"POWERED", off, true},
		{"administrator worker", off, true},
		{"administrator worker-2", off, false},
		{"us/worker-1", off, true},
		{"vsphere", off, true},
		{"angehängt", attached, true},
		{"angehangt", attached, false},
		{"object:worker-1", off, true},
		{"object:us/worker-1", off, true},
		{"object:eu/worker-1", off, false},
		{"object:us", off, true},
		{"object:worker", off, false},
		{"object:worker-*", off, true},
		{"object:WORKER-?", off, true},
		{"object:worker-1", attached, true},
		{"object:pvc-1", attached, true},
		{`object:"pvc-1 at worker-1"`, attached, true},
		{`object:"pvc-1 at worker-2"`, attached, false},
		{"object:web-0", pod, true},
		{"object:default/web-0", pod, true},
		{"object:default", pod, false},
		{"kind:vm", off, true},
		{"kind:vm.*", off, true},
		{"kind:vm.powered-off", off, true},
		{"kind:v", off, false},
		{"kind:*.created", pod, true},
		{"kind:vm.(", off, false},
		{"plane:vsphere", off, true},
		{"plane:v", off, true},
		{"plane:kubernetes", off, false},
		{"plane:k8s", pod, true},
		{"plane:calls", unreachable, true},
		{"plane:kubernetes", unreachable, true},
		{"level:warning", off, true},
		{"level:warning", pod, true},
		{"level:warning", attached, false},
		{"level:error", off, false},
		{"level:err", pod, true},
		{"level:info", attached, true},
		{"!worker-1", off, false},
		{"!kind:vm !level:error", attached, true},
		{"!", off, false},
		{"#72", off, true},
		{"#71", off, true},
		{"#7", off, false},
		{"#", off, false},
		{"kind:", off, true}, // it is being typed
		{"who:me", off, false},
	} {
		if got := parse(tc.filter).match(factsOf(tc.e)); got != tc.want {
			t.Errorf("%q of %s: %t", tc.filter, tc.e.Kind, got)
		}
	}
}

func TestFilterOfCalls(t *testing.T) {
	b := fold.Burst{VCenter: "us", Client: "govc/0.53.0", Method: "Login", Calls: 2, Errors: 1, Error: "NoPermission"}
	for filter, want := range map[string]bool{
		"govc": true, "login us": true, "nopermission": true, "kind:login": true, "plane:calls": true, "object:us": true,
		"level:warning": true, "level:error": false, "#1": false, "plane:vsphere": false,
	} {
		if got := parse(filter).match(burstFacts(&b)); got != want {
			t.Errorf("%q: %t", filter, got)
		}
	}
}
