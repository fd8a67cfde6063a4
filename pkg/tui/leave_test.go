package tui

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

// ctrl+z goes to the shell, from wherever: but not with a sandbox in the same process, which would stand still.
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
	d.shows("would stand still")
}
