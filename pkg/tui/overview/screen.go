package overview

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
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
