package overview

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
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
	s.table.SetColumns(columns(width, s.tree))
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
	now := made{s.state.Version(world.Node, world.VM, world.Host, world.VCenter, world.Volume, world.VirtualMachine, fold.Findings) + 1, s.byState}
	if now == s.made {
		return
	}
	s.made, s.tree = now, build(s.state, s.byState)
	s.table.SetColumns(columns(s.width, s.tree))
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
	cursor                          table.Keys
	fold, in, out, foldAll, openAll key.Binding
	next, previous, sort            key.Binding
}

func newKeys() keys {
	return keys{
		cursor: table.NewKeys(),
		fold:   table.Bind("space", "fold or open the group", "space"),
		out:    table.Bind("←/h", "fold, or to the group above", "left", "h"), in: table.Bind("→", "open the group", "right"),
		foldAll: table.Bind("-", "fold all", "-", "_"), openAll: table.Bind("+", "open all", "+", "="),
		next: table.Bind("n", "next trouble", "n"), previous: table.Bind("N", "trouble before", "N"),
		sort: table.Bind("s", "sort by name or state", "s"),
	}
}

// Bindings returns the keys of the overview.
func (s *Screen) Bindings() []key.Binding {
	k := s.now()
	return append(k.cursor.Bindings(), k.fold, k.out, k.in, k.foldAll, k.openAll, k.next, k.previous, k.sort)
}

// now returns the keys, with those disabled that have no effect.
func (s *Screen) now() keys {
	k := s.keys
	some, whole := s.table.Len() > 0, s.filter == ""
	k.cursor.SetEnabled(some)
	k.sort.SetEnabled(some)
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
	case k.cursor.Move(&s.table, msg):
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

// item is a row of the table: a heading, or a line.
type item struct {
	group *group
	line  *line
}

func (i item) key() string {
	if i.group != nil {
		return i.group.key
	}
	return i.line.key
}

// above is the group of the item.
func (i item) above() *group {
	if i.group != nil {
		return i.group.parent
	}
	return i.line.in
}

func (i item) stop() bool { return i.group != nil && i.group.stop() || i.line != nil && i.line.stop() }

// list makes the rows of the table: those that are not folded, and match the filter. The cursor stays with its row, or with the
// row's node if the row is gone.
func (s *Screen) list() {
	was, had := s.current()
	words := strings.Fields(strings.ToLower(s.filter))
	s.shown, s.matches = s.shown[:0], 0
	for _, g := range s.tree.roots {
		s.shown = s.walk(s.shown, g, words, "")
	}
	rows := make([]table.Row, len(s.shown))
	s.at = make(map[string]int, len(rows))
	for i, it := range s.shown {
		rows[i] = table.Row{Key: it.key(), Cells: func() []table.Cell { return s.cells(it) }}
		s.at[rows[i].Key] = i
	}
	switch {
	case len(words) > 0 && s.tree.sum != (tally{}):
		s.table.Empty = "Nothing here matches “" + text.Clean(s.filter) + "”."
	default:
		s.table.Empty = "No VMs and no nodes yet."
	}
	s.table.SetRows(rows)
	if _, there := s.at[was.keyOr("")]; had && !there {
		s.follow(was)
	}
}

func (i item) keyOr(none string) string {
	if i == (item{}) {
		return none
	}
	return i.key()
}

// follow moves the cursor to the row of a line's node, or to the group that is folded over it.
func (s *Screen) follow(was item) {
	if was.line != nil && was.line.node != nil {
		for _, it := range s.shown {
			if it.line != nil && it.line.node != nil && it.line.node.Name == was.line.node.Name {
				s.table.Choose(it.line.key)
				return
			}
		}
	}
	for g := was.above(); g != nil; g = g.parent {
		if s.closed[g.key] && s.table.Choose(g.key) {
			return
		}
	}
}

// walk appends a group with its visible rows; with a filter, its matches, folded or not.
func (s *Screen) walk(shown []item, g *group, words []string, around string) []item {
	before := len(shown)
	shown = append(shown, item{group: g})
	filtered := len(words) > 0
	if filtered {
		around += " " + strings.ToLower(g.label)
	} else if s.closed[g.key] {
		return shown
	}
	for _, sub := range g.groups {
		shown = s.walk(shown, sub, words, around)
	}
	for _, l := range g.lines {
		if filtered && !found(l.words()+around, words) {
			continue
		}
		s.matches++
		shown = append(shown, item{line: l})
	}
	if filtered && len(shown) == before+1 && (len(g.groups)+len(g.lines) > 0 || !found(around+" "+strings.ToLower(g.trouble.Word), words)) {
		return shown[:before] // without a heading
	}
	return shown
}

// current returns the row with the cursor.
func (s *Screen) current() (item, bool) {
	key, ok := s.table.Key()
	if !ok {
		return item{}, false
	}
	i, ok := s.at[key]
	if !ok || i >= len(s.shown) {
		return item{}, false
	}
	return s.shown[i], true
}

// Subject returns the subject of the row with the cursor: the node, or else the VM; the host; for a datacenter its vCenter.
// Regions and zones have none, and VirtualMachines without a VM.
func (s *Screen) Subject() (api.Subject, bool) {
	it, ok := s.current()
	if !ok {
		return api.Subject{}, false
	}
	return it.subject()
}

func (i item) subject() (api.Subject, bool) {
	switch l, g := i.line, i.group; {
	case l != nil && l.node != nil && (l.vm == nil || l.node.Registered && !l.gone):
		return api.Subject{Kind: "node", Name: l.node.Name}, true
	case l != nil && l.vm == nil:
	case l != nil:
		return api.Subject{Kind: "vm", VCenter: l.vm.VCenter, Name: l.vm.Name}, true
	case g.depth == host && g.host != nil:
		return api.Subject{Kind: "host", VCenter: g.host.VCenter, Name: g.host.Name}, true
	case g.depth == datacenter && g.place.vcenter != "":
		return api.Subject{Kind: "vcenter", Name: g.place.vcenter}, true
	}
	return api.Subject{}, false
}

// is reports whether a subject refers to the item.
func (i item) is(subject api.Subject) bool {
	same := func(vcenter string) bool { return subject.VCenter == "" || subject.VCenter == vcenter }
	switch l, g := i.line, i.group; subject.Kind {
	case "node":
		return l != nil && l.node != nil && l.node.Name == subject.Name
	case "vm":
		return l != nil && l.vm != nil && l.vm.Name == subject.Name && same(l.vm.VCenter)
	case "host":
		return g != nil && g.depth == host && g.onHost == subject.Name && same(g.place.vcenter)
	case "vcenter":
		return g != nil && g.depth == datacenter && g.place.vcenter == subject.Name
	}
	return false
}

// Choose moves the cursor to a node, a VM, a host or the first datacenter of a vCenter, and opens the groups around it.
func (s *Screen) Choose(subject api.Subject) bool {
	var found *item
	look := func(it item) {
		if found == nil && it.is(subject) {
			found = &it
		}
	}
	if s.filter != "" {
		for _, it := range s.shown {
			look(it)
		}
	} else {
		s.every(look)
	}
	return found != nil && s.reveal(*found)
}

// Click moves the cursor to a row; on the arrow of a group it folds or opens the group.
func (s *Screen) Click(x, y int) (intent.Intent, bool) {
	if y < 1 || y >= s.height-s.strip() || !s.table.Click(y-1) {
		return nil, false
	}
	if it, ok := s.current(); ok && it.group != nil && s.filter == "" && x <= it.group.indent+2 {
		s.toggle()
	}
	return nil, true
}

// Wheel moves the cursor.
func (s *Screen) Wheel(lines int) { s.table.Move(lines) }

// judge finds the problems of a line. Those with a column only raise the level.
func (l *line) judge() {
	if l.vm != nil {
		l.judgeVM(*l.vm)
	}
	if l.machine != nil {
		if m := glance.Machine(*l.machine); m.Level > glance.Good {
			l.say(glance.Mark{Glyph: m.Glyph, Word: "VirtualMachine " + m.Word, Level: m.Level})
		}
	}
	if len(l.findings) > 0 {
		l.level = max(l.level, glance.Warn)
	}
	switch {
	case l.gone:
		l.say(glance.Mark{Glyph: theme.GlyphBad, Word: "node deleted", Level: glance.Warn})
	case l.node == nil:
	case !l.node.Registered:
		l.level = max(l.level, glance.Warn)
	default:
		_, taints := glance.Taints(l.node.Taints, false)
		l.level = max(l.level, glance.Node(*l.node).Level, min(taints, glance.Warn))
		if l.vm == nil && len(l.findings) == 0 {
			l.say(glance.Mark{Glyph: theme.GlyphBad, Word: "no VM has its UUID", Level: glance.Warn})
		}
	}
}

func (l *line) judgeVM(v api.VM) {
	l.level = max(l.level, glance.Power(v).Level)
	if c := glance.Connection(v.Connection); c.Level > glance.Good {
		l.say(glance.Mark{Glyph: c.Glyph, Word: "VM " + c.Word, Level: c.Level})
	}
	if v.Role == "" {
		return
	}
	if p := glance.Process(v); p.Level > glance.Good {
		l.say(glance.Mark{Glyph: p.Glyph, Word: "guest " + p.Word, Level: p.Level})
	}
	if t := glance.Tools(v); t.Level > glance.Good {
		l.say(t)
	}
}

func (l *line) say(m glance.Mark) {
	l.trouble = append(l.trouble, m)
	l.level = max(l.level, m.Level)
}

// judge finds the problem of the host or the vCenter itself.
func (g *group) judge() {
	switch {
	case g.host != nil:
		if g.trouble = glance.Connection(g.host.Connection); g.trouble.Level <= glance.Good && g.host.Power != "on" {
			g.trouble = glance.Mark{Glyph: theme.GlyphBad, Word: "host " + g.host.Power, Level: glance.Bad}
		} else {
			g.trouble.Word = "host " + g.trouble.Word
		}
	case g.vcenter != nil:
		g.trouble = glance.Gate(*g.vcenter)
		g.trouble.Word = "vCenter " + g.trouble.Word
		if g.trouble.Level <= glance.Good && !g.vcenter.Watched {
			g.trouble = glance.Mark{Glyph: theme.GlyphUnknown, Word: "not watched: may be old", Level: glance.Warn}
		}
	}
	if g.trouble.Level <= glance.Good {
		g.trouble = glance.Mark{}
	}
}
