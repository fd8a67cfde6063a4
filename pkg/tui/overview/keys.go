package overview

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
)

type keys struct {
	up, down, top, bottom, pageUp, pageDown key.Binding
	fold, in, out, foldAll, openAll         key.Binding
	next, previous, sort                    key.Binding
}

func newKeys() keys {
	bind := func(help, what string, keys ...string) key.Binding {
		return key.NewBinding(key.WithKeys(keys...), key.WithHelp(help, what))
	}
	return keys{
		up: bind("↑/k", "up", "up", "k"), down: bind("↓/j", "down", "down", "j"),
		top: bind("g", "first row", "g", "home"), bottom: bind("G", "last row", "G", "end"),
		pageUp: bind("pgup", "page up", "pgup", "ctrl+u"), pageDown: bind("pgdn", "page down", "pgdown", "ctrl+d"),
		fold: bind("space", "fold or open the group", "space"),
		out:  bind("←/h", "fold, or to the group above", "left", "h"), in: bind("→", "open the group", "right"),
		foldAll: bind("-", "fold all", "-", "_"), openAll: bind("+", "open all", "+", "="),
		next: bind("n", "next trouble", "n"), previous: bind("N", "trouble before", "N"),
		sort: bind("s", "sort by name or state", "s"),
	}
}

// Bindings returns the keys of the overview.
func (s *Screen) Bindings() []key.Binding {
	k := s.now()
	return []key.Binding{k.up, k.down, k.top, k.bottom, k.pageUp, k.pageDown, k.fold, k.out, k.in, k.foldAll, k.openAll, k.next, k.previous, k.sort}
}

// now returns the keys, with those disabled that have no effect.
func (s *Screen) now() keys {
	k := s.keys
	some, whole := s.table.Len() > 0, s.filter == ""
	for _, b := range []*key.Binding{&k.up, &k.down, &k.top, &k.bottom, &k.pageUp, &k.pageDown, &k.sort} {
		b.SetEnabled(some)
	}
	for _, b := range []*key.Binding{&k.fold, &k.in, &k.out, &k.foldAll, &k.openAll} {
		b.SetEnabled(some && whole) // a filter shows its matches, folded or not
	}
	trouble := s.tree.sum.findings+s.tree.sum.bad+s.tree.sum.warn > 0
	k.next.SetEnabled(some && trouble)
	k.previous.SetEnabled(some && trouble)
	return k
}

// Handle handles the keys of [Screen.Bindings]; all of them only move on this screen.
func (s *Screen) Handle(msg tea.KeyPressMsg) (intent.Intent, bool) {
	k := s.now()
	switch {
	case key.Matches(msg, k.up):
		s.table.Move(-1)
	case key.Matches(msg, k.down):
		s.table.Move(1)
	case key.Matches(msg, k.top):
		s.table.Move(-s.table.Len())
	case key.Matches(msg, k.bottom):
		s.table.Move(s.table.Len())
	case key.Matches(msg, k.pageUp):
		s.table.Move(-s.table.Page())
	case key.Matches(msg, k.pageDown):
		s.table.Move(s.table.Page())
	case key.Matches(msg, k.fold):
		s.toggle()
	case key.Matches(msg, k.in):
		s.unfold()
	case key.Matches(msg, k.out):
		s.leave()
	case key.Matches(msg, k.foldAll):
		s.foldAll(true)
	case key.Matches(msg, k.openAll):
		s.foldAll(false)
	case key.Matches(msg, k.next):
		s.seek(1)
	case key.Matches(msg, k.previous):
		s.seek(-1)
	case key.Matches(msg, k.sort):
		s.byState = !s.byState
		s.refresh()
	default:
		return nil, false
	}
	return nil, true
}
