package overview

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/table"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// Screen is the overview. Make it with [New].
type Screen struct {
	width, height int
	theme         *theme.Theme
	state         *fold.State
	table         table.Table
	keys          keys

	tree    *tree
	made    made
	shown   []item
	at      map[string]int  // indexes in shown, by key
	closed  map[string]bool // groups that are folded, by key
	filter  string
	matches int // lines that match the filter
	byState bool
}

// made identifies the data of the tree.
type made struct {
	version uint64 // plus one, so that 0 is none
	byState bool
}

// New returns an empty overview: it needs a size, a theme and a state.
func New() *Screen {
	return &Screen{theme: theme.Mono(), tree: &tree{}, closed: map[string]bool{}, at: map[string]int{}, keys: newKeys()}
}

// SetSize sets its size.
func (s *Screen) SetSize(width, height int) {
	s.width, s.height = width, height
	s.table.SetColumns(columns(width, s.tree.renamed))
	s.table.SetSize(width, max(0, height-1-s.strip()))
}

// SetTheme sets its theme.
func (s *Screen) SetTheme(t *theme.Theme) {
	s.theme = t
	s.table.SetTheme(t)
}

// SetState applies the changes of the state.
func (s *Screen) SetState(state *fold.State) {
	s.state = state
	s.refresh()
}

// refresh rebuilds the tree if its data has changed.
func (s *Screen) refresh() {
	if s.state == nil {
		return
	}
	now := made{s.state.Version(world.Node, world.VM, world.Host, world.VCenter, world.Volume, fold.Findings) + 1, s.byState}
	if now == s.made {
		return
	}
	s.made, s.tree = now, build(s.state, s.byState)
	s.table.SetColumns(columns(s.width, s.tree.renamed))
	s.list()
}

// View returns the screen.
func (s *Screen) View() string {
	if s.width <= 0 || s.height <= 0 {
		return ""
	}
	view := text.Fit(s.title(), s.width)
	if s.height > 1 {
		view += "\n" + s.table.View()
	}
	if n := s.strip(); n > 0 {
		view += "\n" + text.Block(s.details(n), s.width, n)
	}
	return view
}

// SetFilter shows only the lines with all words in their names, places and states.
func (s *Screen) SetFilter(filter string) {
	if filter != s.filter {
		s.filter = filter
		s.list()
	}
}

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
