package safety

import (
	"context"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// answer is whether a CCM gets from the broken vCenter what it needs to be certain that a VM is gone.
type answer string

const (
	no    answer = "no"    // nothing may be concluded: neither vCenter's nodes may be deleted
	yes   answer = "yes"   // the fault is none, or soon got over: both vCenters' nodes have to be dealt with during it
	maybe answer = "maybe" // either is right
)

// answers are for a CCM that ran when the fault happened, and for one that was started in it.
type answers struct{ running, restarted answer }

func (a answers) of(m mode) answer {
	if m == runsOn {
		return a.running
	}
	return a.restarted
}

// fault is something that happens to a vCenter.
type fault struct {
	name string
	// core is the mode in which the fault is one of the few rows that stand for all of them; empty for none.
	core mode
	// modes are the CCMs that it happens to; those of [newFault] are one that runs on and one that is killed.
	modes []mode
	// answers is whether there are any for either CCM, zones whether it gets tags as well. sound is answers for the Nodes of
	// the other vCenter where these are not the same.
	answers, zones answers
	sound          *answers
	// strike begins it at the broken vCenter and returns what ends it.
	strike func(t *testing.T, w *world, row int) (heal func())
	// first is a second fault that strikes at the same time and is over before this one; nil for none.
	first *fault
}

// new makes a fault during which, for either CCM, the answers are the same.
func newFault(name string, a answer, strike func(*testing.T, *world) func()) fault {
	same := answers{a, a}
	return fault{
		name: name, modes: []mode{runsOn, restarted}, answers: same, zones: same,
		strike: func(t *testing.T, w *world, _ int) func() { return strike(t, w) },
	}
}

// in marks the row of the fault with that CCM as one of the core.
func (f fault) in(core mode) fault {
	f.core = core
	return f
}

func faults() []fault {
	staleSecret := newFault("Secret changed to a wrong password", no, wrongSecret)
	// The session that was made with the right one continues.
	staleSecret.answers.running, staleSecret.zones.running = maybe, maybe
	tagsDown := newFault("tags REST only down", yes, func(t *testing.T, w *world) func() {
		return rule(t, w, gate.Rule{Match: gate.Match{Transport: gate.REST}, Action: gate.HTTPStatus{Code: 503}})
	})
	tagsDown.zones.running, tagsDown.zones.restarted = maybe, no
	vmsHidden := newFault("permissions on VMs revoked", no, hidden)
	// References that were seen before are known to be no more.
	vmsHidden.answers.running = maybe
	return append([]fault{
		newFault("down (refused)", no, setGate(gate.Mode{State: gate.Down})).in(restarted),
		newFault("hung", no, setGate(gate.Mode{State: gate.Hung})),
		newFault("503", no, func(t *testing.T, w *world) func() {
			return rule(t, w, gate.Rule{Action: gate.HTTPStatus{Code: 503}})
		}),
		newFault("slow (30s per call)", no, setGate(gate.Mode{State: gate.Slow, Delay: 30 * time.Second})).in(runsOn),
		newFault("password rotated, Secret stale", no, rotated).in(runsOn),
		staleSecret,
		newFault("sessions expired", yes, func(_ *testing.T, w *world) func() {
			w.at(broken).EndSessions(w.Account(broken).Name)
			return func() {}
		}),
		newFault("new certificate, same CA", yes, func(t *testing.T, w *world) func() {
			return certificate(t, w, w.CA)
		}),
		newFault("new certificate, unknown CA", no, func(t *testing.T, w *world) func() {
			unknown, err := cert.NewCA("unknown")
			if err != nil {
				t.Fatal(err)
			}
			return certificate(t, w, unknown)
		}),
		newFault("permissions revoked", no, revoked),
		vmsHidden.in(restarted),
		tagsDown.in(restarted),
	}, remembered()...)
}

// setGate puts the gate in a mode, and back.
func setGate(m gate.Mode) func(*testing.T, *world) func() {
	return func(t *testing.T, w *world) func() {
		set := func(m gate.Mode) {
			if err := w.at(broken).Gate().Set(context.WithoutCancel(t.Context()), m); err != nil {
				t.Fatal(err)
			}
		}
		set(m)
		return func() { set(gate.Mode{State: gate.Up}) }
	}
}

// rule puts a rule in force at the gate, and removes it.
func rule(t *testing.T, w *world, r gate.Rule) func() {
	g := w.at(broken).Gate()
	id, err := g.Add(r)
	if err != nil {
		t.Fatal(err)
	}
	g.CutConnections() // the long poll that is under way would see nothing of it
	return func() {
		if err := g.Remove(context.WithoutCancel(t.Context()), id); err != nil {
			t.Fatal(err)
		}
	}
}

// newPassword changes that of the CCM's account.
func (w *world) newPassword(t *testing.T) {
	t.Helper()
	u := w.Account(broken)
	if err := w.at(broken).SetPasswordOf(u.Name, u.Password+"-next"); err != nil {
		t.Fatal(err)
	}
}

// rotated changes the password at the vCenter, whose sessions end; the Secret follows when it heals.
func rotated(t *testing.T, w *world) func() {
	w.newPassword(t)
	w.at(broken).EndSessions(w.Account(broken).Name)
	return func() { w.WriteSecret(nil) }
}

// wrongSecret has the Secret name a password that the vCenter does not know.
func wrongSecret(_ *testing.T, w *world) func() {
	w.WriteSecret(func(data map[string]string) { data[w.at(broken).Host()+".password"] = "wrong" })
	return func() { w.WriteSecret(nil) }
}

// certificate changes the vCenter's, and changes it once more to one that is trusted.
func certificate(t *testing.T, w *world, ca *cert.CA) func() {
	show := func(ca *cert.CA) {
		if err := w.NewCertificate(broken, ca); err != nil {
			t.Fatal(err)
		}
	}
	show(ca)
	return func() { show(w.CA) }
}
