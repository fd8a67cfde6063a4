package tui

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// ctrl+z goes to the shell, from wherever: but not with a sandbox in the same process, which would be suspended.
func TestSuspend(t *testing.T) {
	ctrlZ := tea.KeyPressMsg{Code: 'z', Mod: tea.ModCtrl}
	for _, keys := range [][]string{{}, {":"}, {"?"}} {
		d := drive(t, &fake{upTo: calm}, nil)
		d.press(keys...)
		_, cmd := d.Update(ctrlZ)
		if cmd == nil {
			t.Fatalf("after %v: nothing", keys)
		}
		if _, ok := cmd().(tea.SuspendMsg); !ok {
			t.Errorf("after %v: %T", keys, cmd())
		}
	}
	d := drive(t, &fake{upTo: calm}, func(o *Options) { o.Owned = true })
	if _, cmd := d.Update(ctrlZ); cmd != nil {
		t.Error("the sandbox is suspended, too")
	}
	d.shows("would be suspended")
}

// Also where nothing else fits, the person is asked, and the answer counts.
func TestLeaveSmall(t *testing.T) {
	d := drive(t, &fake{upTo: calm}, func(o *Options) { o.Owned = true })
	d.resize(40, 8)
	d.shows("too small")
	d.press("q")
	d.shows("s stops the sandbox")
	d.press("x")
	d.shows("too small")
	d.press("q")
	k, err := keyOf("l")
	if err != nil {
		t.Fatal(err)
	}
	_, cmd := d.Update(k)
	if cmd == nil {
		t.Fatal("it does not leave")
	}
	if _, ok := cmd().(tea.QuitMsg); !ok || d.outcome.Stop {
		t.Errorf("%+v", d.outcome)
	}
}

// What could not be healed is broken still.
func TestLeavesBroken(t *testing.T) {
	d := drive(t, &fake{upTo: calm}, nil)
	for _, state := range []string{"applying", "active", "healing", "failed", "healed"} {
		d.state.Apply(d.state.Now(), api.Update{Lease: &api.Lease{ID: state, State: state}})
	}
	if d.press("q"); d.outcome.Leases != 3 {
		t.Errorf("%d leases, want 3", d.outcome.Leases)
	}
}
