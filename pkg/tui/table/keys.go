package table

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// Keys move the cursor of a [Table]. Make them with [NewKeys].
type Keys struct{ up, down, top, bottom, pageUp, pageDown key.Binding }

// NewKeys returns the keys of all tables, enabled.
func NewKeys() Keys {
	return Keys{
		up: Bind("↑/k", "up", "up", "k"), down: Bind("↓/j", "down", "down", "j"),
		top: Bind("g", "first row", "g", "home"), bottom: Bind("G", "last row", "G", "end"),
		pageUp: Bind("pgup", "page up", "pgup", "ctrl+u"), pageDown: Bind("pgdn", "page down", "pgdown", "ctrl+d"),
	}
}

// Bind returns a binding: what the help calls its keys and their effect, and the keys.
func Bind(help, what string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(help, what))
}

// SetEnabled enables or disables all of them.
func (k *Keys) SetEnabled(enabled bool) {
	for _, b := range []*key.Binding{&k.up, &k.down, &k.top, &k.bottom, &k.pageUp, &k.pageDown} {
		b.SetEnabled(enabled)
	}
}

// Bindings returns them, in the order of the help.
func (k Keys) Bindings() []key.Binding {
	return []key.Binding{k.up, k.down, k.top, k.bottom, k.pageUp, k.pageDown}
}

// Move moves the cursor of a table if the key is one of these, and reports whether it is.
func (k Keys) Move(t *Table, msg tea.KeyPressMsg) bool {
	switch {
	case key.Matches(msg, k.up):
		t.Move(-1)
	case key.Matches(msg, k.down):
		t.Move(1)
	case key.Matches(msg, k.top):
		t.Move(-t.Len())
	case key.Matches(msg, k.bottom):
		t.Move(t.Len())
	case key.Matches(msg, k.pageUp):
		t.Move(-t.Page())
	case key.Matches(msg, k.pageDown):
		t.Move(t.Page())
	default:
		return false
	}
	return true
}
