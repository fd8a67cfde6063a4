package node_test

import (
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// The life cycle of any guest: events of its VM and of itself, and the next action.
func TestLife(t *testing.T) {
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	second := first.Add(time.Hour)
	running := node.VM{Exists: true, Power: node.On, GuestUp: true, BootTime: first}
	with := func(change func(*node.VM)) node.VM {
		m := running
		change(&m)
		return m
	}
	poweredOff := with(func(m *node.VM) { m.Power = node.Off; m.GuestUp = false })
	suspended := with(func(m *node.VM) { m.Power = node.Suspended })
	booting := with(func(m *node.VM) { m.GuestUp = false; m.BootTime = second })
	reset := with(func(m *node.VM) { m.BootTime = second })
	unknown := with(func(m *node.VM) { m.BootTime = time.Time{} })
	type step = func(*node.Life)
	sees := func(m node.VM) step { return func(l *node.Life) { l.Observe(m) } }
	hang := func(l *node.Life) { l.Hang(node.Running) }
	hangPaused := func(l *node.Life) { l.Hang(node.Paused) }
	die, unhang := (*node.Life).Die, (*node.Life).Unhang

	var (
		runs   = node.Next{Start: true, State: node.Running}
		paused = node.Next{State: node.Paused}
		hangs  = node.Next{Start: true, State: node.Hung}
		over   = node.Next{End: true, State: node.Running}
		again  = node.Next{End: true, Start: true, State: node.Running} // ends, and boots
	)
	for _, tc := range []struct {
		name  string
		steps []step
		boot  time.Time // of the guest that runs
		want  node.Next
	}{
		{"nothing was seen", nil, time.Time{}, over},
		{"on", []step{sees(running)}, first, runs},
		{"on, the guest boots", []step{sees(booting)}, time.Time{}, node.Next{State: node.Running}},
		{"off", []step{sees(running), sees(poweredOff)}, first, over},
		{"off and on", []step{sees(running), sees(poweredOff), sees(reset)}, first, again},
		{"reset", []step{sees(running), sees(reset)}, first, again},
		{"reset, the guest boots", []step{sees(running), sees(booting)}, first, over},
		{"its tools stop, it runs on", []step{sees(running), sees(with(func(m *node.VM) { m.GuestUp = false }))}, first, node.Next{State: node.Running}},
		{"suspended", []step{sees(running), sees(suspended)}, first, paused},
		{"resumed", []step{sees(running), sees(suspended), sees(running)}, first, runs},
		{"suspended, then off", []step{sees(suspended), sees(poweredOff)}, first, over},
		{"gone", []step{sees(running), sees(node.VM{})}, first, over},
		{"the vCenter forgets the boot time", []step{sees(running), sees(unknown)}, first, runs},
		{"the boot time was not known", []step{sees(unknown), sees(running)}, time.Time{}, runs},
		{"hung", []step{sees(running), hang}, first, hangs},
		{"hung, and let go", []step{sees(running), hang, unhang}, first, runs},
		{"hung, then suspended", []step{sees(running), hang, sees(suspended)}, first, paused},
		{"hung, then reset: the next boot does not hang", []step{sees(running), hang, sees(reset)}, first, again},
		{"what is suspended cannot hang", []step{sees(suspended), hangPaused, sees(running)}, first, runs},
		{"died", []step{sees(running), die}, first, over},
		{"died, seen as before", []step{sees(running), die, sees(running)}, first, over},
		{"died, the vCenter forgets the boot time", []step{sees(running), die, sees(unknown), sees(running)}, first, over},
		{"died, then reset", []step{sees(running), die, sees(reset)}, time.Time{}, runs},
		{"died, the boot time forgotten, then reset", []step{sees(running), die, sees(unknown), sees(reset)}, time.Time{}, runs},
		{"died, then off and on", []step{sees(running), die, sees(poweredOff), sees(running)}, time.Time{}, runs},
		{"died while it hung", []step{sees(running), hang, die}, first, over},
		{"died while off: the next boot lives", []step{sees(poweredOff), die, sees(running)}, time.Time{}, runs},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var l node.Life
			for _, s := range tc.steps {
				s(&l)
			}
			if got := l.Next(tc.boot); got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}
