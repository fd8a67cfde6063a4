package causality

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// In tables of causes, what a fault does without an event of its own is written fault.injected/PREFIX and fault.healed/PREFIX:
// the beginning and the end of a fault whose kind begins so.

// matchesAny tells whether the kind of an event is in a list of causes.
func matchesAny(e event.Event, kinds []string) bool {
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

// anyTarget calls match for the event, or, when it is about a lease of several targets, for it as if it were about each.
func (f *Finder) anyTarget(e event.Event, match func(event.Event) bool) bool {
	if e.Object.Kind != "Lease" {
		return match(e)
	}
	l, _ := f.Lease(e.Object.Name)
	return slices.ContainsFunc(l.Targets, func(t fault.Leased) bool {
		e.Object = t.Target.Event()
		return match(e)
	})
}

// activeFault returns the newest beginning of a fault of such a kind that has not ended, however long ago it was.
func (f *Finder) activeFault(prefix string, match func(event.Event) bool) uint64 {
	healed := map[string]bool{}
	return f.Within(Ever, []string{"fault.injected/" + prefix, "fault.healed/" + prefix}, func(e event.Event) bool {
		id, _ := leaseOf(e)
		if e.Kind == "fault.healed" {
			healed[id] = true
			return false
		}
		return !healed[id] && match(e)
	})
}
