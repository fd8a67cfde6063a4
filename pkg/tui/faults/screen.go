package faults

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/table"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// part is one of the two parts of the screen.
type part int

const (
	inForce   part = iota // the leases
	catalogue             // what can be broken
)

// Screen shows the active faults and the catalogue. Make it with [New].
type Screen struct {
	state   *fold.State
	version uint64
	theme   *theme.Theme
	kinds   []api.FaultKind
	filter  string

	width, height int
	place         layout

	at    part
	moved bool // a person has chosen the part

	leases    leases
	force     table.Table
	catalogue table.Table
	kindsSeen int
	scroll    int // of the description of the selected one
}

// New returns the screen. Its catalogue is empty until [Screen.SetKinds].
func New() *Screen {
	s := &Screen{theme: theme.Mono(), at: catalogue}
	s.force.SetColumns(leaseColumns())
	s.catalogue.SetColumns(kindColumns())
	s.SetTheme(s.theme)
	s.words()
	s.look()
	return s
}

// SetKinds sets the catalogue, in display order: by theme.
func (s *Screen) SetKinds(kinds []api.FaultKind) {
	s.kinds = kinds
	s.refill()
}

// SetSize implements [panel.Panel].
func (s *Screen) SetSize(width, height int) {
	s.width, s.height = width, height
	s.arrange()
}

// SetTheme implements [panel.Panel].
func (s *Screen) SetTheme(t *theme.Theme) {
	s.theme = t
	s.force.SetTheme(t)
	s.catalogue.SetTheme(t)
}

// SetState implements [panel.Panel].
func (s *Screen) SetState(state *fold.State) {
	v := state.Version(world.Lease)
	if s.state == state && s.version == v {
		return
	}
	s.state, s.version = state, v
	s.relist()
}

// SetFilter implements [panel.Filterer]: of the catalogue, and of the leases.
func (s *Screen) SetFilter(filter string) {
	s.filter = filter
	s.refill()
	if s.state != nil {
		s.relist()
	}
}

// relist makes the rows of the leases.
func (s *Screen) relist() {
	s.leases = leasesOf(s.state, s.filter)
	rows := make([]table.Row, len(s.leases.all))
	for i := range s.leases.all {
		rows[i] = s.leaseRow(&s.leases.all[i])
	}
	s.force.SetRows(rows)
	if !s.moved && s.leases.broken > 0 { // the cursor starts at a fault to heal
		s.at = inForce
	}
	s.words()
	s.look()
	s.arrange()
}

// refill makes the rows of the catalogue.
func (s *Screen) refill() {
	rows, n := s.kindRows()
	s.kindsSeen = n
	s.catalogue.SetRows(rows)
	s.words()
	s.scroll = 0
}

// words returns the texts of empty parts.
func (s *Screen) words() {
	s.force.Empty = "nothing is broken"
	s.catalogue.Empty = "Only a running sandbox has a catalogue."
	if s.filter != "" {
		s.force.Empty = "no lease matches the filter"
		if len(s.kinds) > 0 {
			s.catalogue.Empty = "no fault matches the filter"
		}
	}
}

// look shows the cursor in its part.
func (s *Screen) look() {
	s.force.Blurred = s.at != inForce
	s.catalogue.Blurred = s.at != catalogue
}

// lease returns the lease with the cursor, or nil.
func (s *Screen) lease() *api.Lease {
	id, ok := s.force.Key()
	if !ok {
		return nil
	}
	i := slices.IndexFunc(s.leases.all, func(l api.Lease) bool { return l.ID == id })
	if i < 0 {
		return nil
	}
	return &s.leases.all[i]
}

// Subject implements [panel.Selector]: the target of a lease with one target.
func (s *Screen) Subject() (api.Subject, bool) {
	l := s.lease()
	if s.at != inForce || l == nil || len(l.Targets) != 1 {
		return api.Subject{}, false
	}
	t := l.Targets[0]
	switch kind := strings.ToLower(t.Kind); kind {
	case "vm", "node", "host", "vcenter", "component", "volume":
		return api.Subject{Kind: kind, VCenter: t.VCenter, Name: t.Name}, true
	}
	return api.Subject{}, false
}

// Writes implements [panel.Writer].
func (s *Screen) Writes() []string { return []string{"x", "X"} }

// summary returns the number of leases.
func (s *Screen) summary() string {
	if s.state == nil {
		return ""
	}
	parts := []string{fmt.Sprintf("%d in force", s.leases.broken)}
	if n := s.leases.failed; n > 0 {
		parts = append(parts, theme.GlyphBad+fmt.Sprintf(" %d could not be healed", n))
	}
	if n := s.leases.healed; n > 0 {
		parts = append(parts, fmt.Sprintf("%d healed", n))
	}
	return strings.Join(parts, " · ")
}

// about returns the description of the selected row, with lines of the width.
func (s *Screen) about(width int) []string {
	if s.at == inForce {
		if l := s.lease(); l != nil {
			return aboutLease(s.theme, width, l, s.state.Now())
		}
		return nil
	}
	if k := s.kind(); k != nil {
		return aboutKind(s.theme, width, k)
	}
	return nil
}

// title is the line above a part, which reports whether it has the cursor.
func (s *Screen) title(p part, name, note string) string {
	mark, style := "  ", s.theme.Tab
	if s.at == p {
		mark, style = theme.GlyphClosed+" ", s.theme.TabOn
	}
	line := s.theme.Key.Render(mark) + style.Render(name) + "  " + s.theme.Dim.Render(note)
	if rest := s.width - text.Width(line) - 1; rest > 0 {
		return line + " " + s.theme.Border.Render(strings.Repeat("─", rest))
	}
	return text.Fit(line, s.width)
}
