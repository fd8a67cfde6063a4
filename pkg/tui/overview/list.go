package overview

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/table"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
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
