package sandbox

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// In tables of causes, what a fault does without an event of its own is written fault.injected/PREFIX and fault.healed/PREFIX:
// the beginning and the end of a fault whose kind begins so.

// isOneOf tells whether the kind of an event is in a list of causes.
func isOneOf(e event.Event, kinds []string) bool {
	if slices.Contains(kinds, e.Kind) {
		return true
	}
	if !strings.HasPrefix(e.Kind, "fault.") {
		return false
	}
	_, kind := leaseOf(e)
	return kind != "" && slices.ContainsFunc(kinds, func(k string) bool {
		what, prefix, ok := strings.Cut(k, "/")
		return ok && what == e.Kind && strings.HasPrefix(kind, prefix)
	})
}

// leaseOf reads the lease's ID and the fault's kind in an event of the engine: "f3: vm.power-off on us/worker-1".
func leaseOf(e event.Event) (id, kind string) {
	id, rest, ok := strings.Cut(e.Message, ": ")
	if !ok {
		return "", ""
	}
	kind, _, _ = strings.Cut(rest, " on ")
	return id, kind
}

// eachTarget calls match for the event, or, when it is about a lease of several targets, for it as if it were about each.
func (s *Sandbox) eachTarget(e event.Event, match func(event.Event) bool) bool {
	engine := s.engine()
	if e.Object.Kind != "Lease" || engine == nil {
		return match(e)
	}
	l, _ := engine.Lease(e.Object.Name)
	return slices.ContainsFunc(l.Targets, func(t fault.Leased) bool {
		e.Object = t.Target.Event()
		return match(e)
	})
}

// lastingFault returns the newest beginning of a fault of such a kind that has not ended, however long ago it was.
func (s *Sandbox) lastingFault(prefix string, match func(event.Event) bool) uint64 {
	healed := map[string]bool{}
	return s.within(everSince, []string{"fault.injected/" + prefix, "fault.healed/" + prefix}, func(e event.Event) bool {
		id, _ := leaseOf(e)
		if e.Kind == "fault.healed" {
			healed[id] = true
			return false
		}
		return !healed[id] && match(e)
	})
}
