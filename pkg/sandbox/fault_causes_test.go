package sandbox

import (
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// What a fault does without an event of its own has the fault for its cause, as long as the fault lasts.
func TestCausesInFaults(t *testing.T) {
	about := func(kind, what, vcenter, name, message string) event.Event {
		return event.Event{Kind: kind, Object: event.Object{Kind: what, VCenter: vcenter, Name: name}, Message: message}
	}
	vcenter := func(kind, message string) event.Event { return about(kind, "VCenter", "eu", "eu", message) }
	old := func(e event.Event) event.Event { e.Time = time.Now().Add(-time.Hour); return e }
	var (
		down   = vcenter("fault.injected", "f1: vcenter.down on eu for 30s")
		up     = vcenter("fault.healed", "f1: vcenter.down on eu")
		other  = about("fault.injected", "VCenter", "us", "us", "f2: vcenter.hang on us")
		locked = vcenter("fault.injected", "f3: vcenter.account-locked on eu")
		vmOff  = about("fault.injected", "VM", "us", "w1", "f4: vm.power-off on us/w1")
		empty  = about("fault.injected", "VM", "us", "w1", "f5: guest.hostname-empty on us/w1")
	)
	for _, tc := range []struct {
		name string
		log  []event.Event
		e    event.Event
		want uint64
	}{
		{"unreachable", []event.Event{down, other}, vcenter("ccm.vcenter-unreachable", ""), 1},
		{"unreachable for long", []event.Event{old(down)}, vcenter("ccm.vcenter-unreachable", ""), 1},
		{"unreachable after the fault", []event.Event{down, up}, vcenter("ccm.vcenter-unreachable", ""), 0},
		{"connected", []event.Event{down, up}, vcenter("ccm.vcenter-connected", ""), 2},
		{"connected while another lasts", []event.Event{down, up, other}, vcenter("ccm.vcenter-connected", ""), 2},
		{"login refused", []event.Event{locked}, vcenter("ccm.vcenter-login-failed", ""), 1},
		{"in doubt", []event.Event{down}, about("ccm.deletion-held-back", "Node", "", "worker-1", `cannot confirm: vcenter "eu": not connected`), 1},
		{"not of the guest", []event.Event{vmOff}, about("ccm.guest-not-reporting", "Node", "", "worker-1", ""), 0},
		{"of the guest", []event.Event{empty, vmOff}, about("ccm.guest-not-reporting", "Node", "", "worker-1", ""), 1},
		{"no fault's words", []event.Event{vcenter("fault.injected", "vcenter.down")}, vcenter("ccm.vcenter-unreachable", ""), 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSandbox(t, "zones-us-eu")
			s.nodes.bound["worker-1"] = bound{vcenter: "us", vm: "w1"}
			for _, e := range tc.log {
				s.log.Append(e)
			}
			if got := s.causeOfClusterEvent(tc.e); got != tc.want {
				t.Errorf("cause %d, want %d", got, tc.want)
			}
		})
	}
}

// Of several targets each is one.
func TestCauseInALeaseOfSeveral(t *testing.T) {
	s, c := withFaults(t)
	lease, err := c.Inject(t.Context(), api.InjectRequest{Fault: "vm.power-off", On: api.Selector{Zone: "us-east"}, Mode: "all"})
	if err != nil {
		t.Fatal(err)
	}
	match := func(name string) func(event.Event) bool {
		return func(e event.Event) bool { return e.Object.Kind == "VM" && e.Object.Name == name }
	}
	if got := s.lastingFault("vm.", match("worker-east-2")); got != lease.Seq {
		t.Errorf("a target: %d, want %d", got, lease.Seq)
	}
	if got := s.lastingFault("vm.", match("worker-west-1")); got != 0 {
		t.Errorf("no target: %d", got)
	}
}
