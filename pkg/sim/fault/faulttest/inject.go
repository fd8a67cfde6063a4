package faulttest

import (
	"errors"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// Inject injects a fault, and ends the test when that does not work.
func (w *World) Inject(t sim.TB, kinds []*fault.Kind, r fault.Request) fault.Lease {
	t.Helper()
	lease, err := w.Engine(t, kinds).Inject(t.Context(), r)
	if err != nil {
		t.Fatal(fmt.Sprintf("inject %s: %v", r.Kind, err))
	}
	return lease
}

// Plan makes a dry run, and ends the test when that does not work.
func (w *World) Plan(t sim.TB, kinds []*fault.Kind, r fault.Request) fault.Lease {
	t.Helper()
	lease, err := w.Engine(t, kinds).Plan(t.Context(), r)
	if err != nil {
		t.Fatal(fmt.Sprintf("plan %s: %v", r.Kind, err))
	}
	return lease
}

// Heal heals a lease, twice, because that must be harmless. It ends the test when that does not work.
func (w *World) Heal(t sim.TB, id string) fault.Lease {
	t.Helper()
	e := w.Engine(t, nil)
	healed, err := e.Heal(t.Context(), id)
	if err != nil {
		t.Fatal(fmt.Sprintf("heal %s: %v", id, err))
	}
	if _, err := e.Heal(t.Context(), id); err != nil {
		t.Fatal(fmt.Sprintf("heal %s again: %v", id, err))
	}
	return healed[0]
}

// Refused injects what must be refused, and returns the refusal. It ends the test when it is not, or when anything was
// left of it.
func (w *World) Refused(t sim.TB, kinds []*fault.Kind, r fault.Request) *fault.Refusal {
	t.Helper()
	e := w.Engine(t, kinds)
	before := len(e.Leases())
	lease, err := e.Inject(t.Context(), r)
	refusal := (*fault.Refusal)(nil)
	switch {
	case err == nil:
		t.Fatal(fmt.Sprintf("inject %s: not refused: %+v", r.Kind, lease))
	case !errors.As(err, &refusal):
		t.Fatal(fmt.Sprintf("inject %s: %v: no refusal", r.Kind, err))
	case len(e.Leases()) != before:
		t.Fatal(fmt.Sprintf("inject %s: refused, and there is a lease", r.Kind))
	}
	return refusal
}

// On chooses targets by name.
func On(names ...string) fault.Selector { return fault.Selector{Names: names} }
