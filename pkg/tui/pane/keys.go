package pane

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// keys are what every pane scrolls with.
type keys struct{ up, down, pageUp, pageDown, halfUp, halfDown, top, end, left, right, next, last, wrap key.Binding }

func bind(help, what string, names ...string) key.Binding {
	return key.NewBinding(key.WithKeys(names...), key.WithHelp(help, what))
}

func newKeys() keys {
	return keys{
		up: bind("↑/k", "up", "up", "k"), down: bind("↓/j", "down", "down", "j"),
		pageUp: bind("pgup", "a page up", "pgup", "ctrl+b", "b"), pageDown: bind("pgdn/space", "a page down", "pgdown", "ctrl+f", "space"),
		halfUp: bind("ctrl+u", "half a page up", "ctrl+u"), halfDown: bind("ctrl+d", "half a page down", "ctrl+d"),
		top: bind("g", "to the beginning", "g", "home"), end: bind("G", "to the end", "G", "end"),
		left: bind("←/h", "left", "left", "h"), right: bind("→", "right", "right"),
		next: bind("n", "next match", "n"), last: bind("N", "match before", "N"), wrap: bind("z", "wrap long lines, or not", "z"),
	}
}

// live are the bindings that have an effect on a viewer now.
func (k keys) live(v *viewer) []key.Binding {
	on := func(b key.Binding, enabled bool) key.Binding {
		b.SetEnabled(enabled)
		return b
	}
	scrolls := !v.fits() || v.cursor >= 0 && len(v.lines) > 1
	aside := !v.wrap && v.widest > v.width
	found := len(v.search.lines) > 0
	return []key.Binding{
		on(k.up, scrolls), on(k.down, scrolls), on(k.pageUp, scrolls), on(k.pageDown, scrolls), on(k.halfUp, scrolls), on(k.halfDown, scrolls),
		on(k.top, scrolls), on(k.end, scrolls), on(k.left, aside), on(k.right, aside), on(k.wrap, aside || v.wrap), on(k.next, found), on(k.last, found),
	}
}

// handle scrolls, and tells whether the key is for that.
func (k keys) handle(v *viewer, msg tea.KeyPressMsg) bool {
	page := max(1, v.height)
	const far = 1 << 30
	switch {
	case key.Matches(msg, k.up):
		v.move(-1)
	case key.Matches(msg, k.down):
		v.move(1)
	case key.Matches(msg, k.pageUp):
		v.move(-max(1, page-1))
	case key.Matches(msg, k.pageDown):
		v.move(max(1, page-1))
	case key.Matches(msg, k.halfUp):
		v.move(-max(1, page/2))
	case key.Matches(msg, k.halfDown):
		v.move(max(1, page/2))
	case key.Matches(msg, k.top):
		v.move(-far)
	case key.Matches(msg, k.end):
		v.move(far)
	case key.Matches(msg, k.left):
		v.sideways(-8)
	case key.Matches(msg, k.right):
		v.sideways(8)
	case key.Matches(msg, k.wrap):
		v.toggle()
	case key.Matches(msg, k.next):
		k.goTo(v, 1)
	case key.Matches(msg, k.last):
		k.goTo(v, -1)
	default:
		return false
	}
	return true
}

func (k keys) goTo(v *viewer, by int) {
	if to, ok := v.search.next(by); ok {
		v.jump(to)
	}
}
