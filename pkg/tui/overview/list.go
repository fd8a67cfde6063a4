package overview

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/table"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

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
// Regions and zones have none.
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
