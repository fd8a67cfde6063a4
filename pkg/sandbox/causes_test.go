package sandbox

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

func TestCauseOfAProcess(t *testing.T) {
	s := idle(t)
	vm := func(kind string) uint64 {
		return s.log.Append(event.Event{Plane: event.PlaneVSphere, Kind: kind, Object: event.Object{Kind: "VM", VCenter: "us", Name: "w1"}})
	}
	up, off := vm("guest.up"), vm("vm.powered-off")
	s.log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "guest.up", Object: event.Object{VCenter: "us", Name: "w1"}}) // not seen on the vCenter
	about := func(name string) func(event.Event) bool {
		return func(e event.Event) bool { return e.Object.VCenter == "us" && e.Object.Name == name }
	}
	for _, tc := range []struct {
		state child.State
		vm    string
		want  uint64
	}{{child.Started, "w1", up}, {child.Stopped, "w1", off}, {child.Exited, "w1", 0}, {child.Restarting, "w1", 0}, {child.Started, "w2", 0}} {
		if got := s.causeOfProcess(tc.state, about(tc.vm)); got != tc.want {
			t.Errorf("%s of %s: %d, want %d", tc.state, tc.vm, got, tc.want)
		}
	}
	reset := vm("vm.reset")
	if got := s.causeOfProcess(child.Stopped, about("w1")); got != reset {
		t.Errorf("after a reset: %d, want %d", got, reset)
	}
}

// Of two taints of a node that does not answer, one comes from its silence and one from whoever ran the command.
func TestCauseOfATaint(t *testing.T) {
	s := idle(t)
	about := event.Object{Kind: "Node", Name: "a"}
	silent := s.log.Append(event.Event{Plane: event.PlaneKubernetes, Kind: "node.unknown", Object: about})
	said := s.log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "command.out-of-service", Object: about})
	s.log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "command.out-of-service", Object: event.Object{Kind: "Node", Name: "b"}})
	for _, tc := range []struct {
		what string
		got  uint64
		want uint64
	}{
		{"unreachable", s.causeOfTaint("a", "node.kubernetes.io/unreachable"), silent},
		{"out of service", s.causeOfTaint("a", "node.kubernetes.io/out-of-service"), said},
		{"in service again", s.causeOfTaintGone("a", "node.kubernetes.io/out-of-service"), said},
		{"by hand", s.causeOfTaint("c", "node.kubernetes.io/out-of-service"), 0},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: cause %d, want %d", tc.what, tc.got, tc.want)
		}
	}
}
