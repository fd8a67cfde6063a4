package faults

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
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
	s.force.Empty = "no active faults"
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

// layout is where the parts of the screen are: what has no height or no width is not shown.
type layout struct {
	force     int // lines of the leases, with their title
	catalogue int // lines of the rest, with its title
	list      int // cells of the list of the catalogue
	about     int // cells of the description of the selected one
}

// lowest is the height below which only one of the parts is shown, the one with the cursor.
const lowest = 12

// divide divides a screen between n leases and the catalogue.
func divide(width, height, n int, at part) (p layout) {
	switch {
	case height < lowest && at == inForce:
		return layout{force: height}
	case height < lowest:
		p.catalogue = height
	default:
		p.force = min(max(n, 1)+2, max(4, height*2/5))
		p.catalogue = height - p.force
	}
	if p.list = width * 55 / 100; p.list < nameWidth+32 { // no room for the description beside the list
		p.list = nameWidth + 11
	}
	if p.about = width - p.list - 3; p.about < 24 {
		p.list, p.about = width, 0
	}
	return p
}

// arrange lays out the parts.
func (s *Screen) arrange() {
	s.place = divide(s.width, s.height, s.force.Len(), s.at)
	s.force.SetSize(s.width, max(0, s.place.force-1))
	s.catalogue.SetSize(s.place.list, max(0, s.place.catalogue-1))
}

// View implements [panel.Panel].
func (s *Screen) View() string {
	if s.width <= 0 || s.height <= 0 {
		return ""
	}
	var lines []string
	if s.place.force > 0 {
		lines = append(lines, s.title(inForce, "In force", s.summary()))
		lines = append(lines, linesOf(s.force.View())...)
	}
	if n := s.place.catalogue; n > 0 {
		lines = append(lines, s.title(catalogue, "Catalogue", s.tally()))
		list := linesOf(s.catalogue.View())
		about := s.seen(n - 1)
		border := s.theme.Border.Render("│")
		for i, l := range list {
			if s.place.about > 0 {
				l += " " + border + " " + text.Fit(about[i], s.place.about)
			}
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n") // each is as wide as it has to be: measuring them again costs a third of a frame
}

func linesOf(view string) []string {
	if view == "" {
		return nil
	}
	return strings.Split(view, "\n")
}

// tally returns the size of the catalogue.
func (s *Screen) tally() string {
	if s.filter != "" {
		return fmt.Sprintf("%d of %d faults", s.kindsSeen, len(s.kinds))
	}
	return shorten.Count(len(s.kinds), "fault")
}

// seen returns the visible part of the description, exactly so many lines.
func (s *Screen) seen(height int) []string {
	lines := make([]string, height)
	if s.place.about <= 0 || height == 0 {
		return lines
	}
	all := s.about(s.place.about)
	s.scroll = min(s.scroll, max(0, len(all)-height))
	shown := all[s.scroll:]
	copy(lines, shown)
	if len(shown) > height {
		lines[height-1] = s.theme.Dim.Render(fmt.Sprintf("… %d more lines: J K", len(shown)-height+1))
	}
	return lines
}

// Handle implements [panel.Panel].
func (s *Screen) Handle(k tea.KeyPressMsg) (intent.Intent, bool) {
	switch k.String() {
	case "space", "]", "[":
		s.turn(inForce + catalogue - s.at)
	case "up", "k":
		s.move(-1)
	case "down", "j":
		s.move(1)
	case "pgup", "ctrl+u":
		s.move(-s.list().Page())
	case "pgdown", "ctrl+d":
		s.move(s.list().Page())
	case "home", "g":
		s.move(-s.list().Len())
	case "end", "G":
		s.move(s.list().Len())
	case "J":
		s.scroll++
	case "K":
		s.scroll = max(0, s.scroll-1)
	case "enter":
		return s.open()
	case "x":
		return s.heal()
	case "X":
		return s.healAll()
	default:
		return nil, false
	}
	return nil, true
}

// list returns the part with the cursor.
func (s *Screen) list() *table.Table {
	if s.at == inForce {
		return &s.force
	}
	return &s.catalogue
}

func (s *Screen) move(by int) {
	s.moved = true
	s.list().Move(by)
	s.scroll = 0
}

// turn moves the cursor to a part.
func (s *Screen) turn(to part) {
	s.moved = true
	s.at, s.scroll = to, 0
	s.look()
	s.arrange()
}

// open handles enter: it shows the chain of a lease, or the form of a fault.
func (s *Screen) open() (intent.Intent, bool) {
	if s.at == catalogue {
		if k := s.kind(); k != nil {
			return intent.Fill{Kind: k.Name}, true
		}
		return nil, true
	}
	l := s.lease()
	switch {
	case l == nil:
		return nil, true
	case l.Seq == 0:
		return intent.Say{Text: l.ID + " has no event yet"}, true
	}
	return intent.Chain{Seq: l.Seq}, true
}

func (s *Screen) heal() (intent.Intent, bool) {
	l := s.lease()
	switch {
	case s.leases.broken == 0:
		return intent.Say{Text: "no active faults"}, true
	case s.at != inForce:
		return intent.Say{Text: "choose what to heal: ] goes there, X heals all"}, true
	case l == nil:
		return intent.Say{Text: "no lease is selected"}, true
	case l.State == healed:
		return intent.Say{Text: fmt.Sprintf("%s is healed already", l.ID)}, true
	}
	return intent.Heal{HealRequest: api.HealRequest{IDs: []string{l.ID}}}, true
}

func (s *Screen) healAll() (intent.Intent, bool) {
	if s.leases.broken == 0 {
		return intent.Say{Text: "no active faults"}, true
	}
	return intent.Heal{HealRequest: api.HealRequest{All: true}}, true
}

// Bindings implements [panel.Panel].
func (s *Screen) Bindings() []key.Binding {
	b := func(on bool, shown, does string, keys ...string) key.Binding {
		one := key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, does))
		one.SetEnabled(on)
		return one
	}
	l, k, here := s.lease(), s.kind(), s.at == inForce
	enter := b(!here && k != nil, "enter", "inject it", "enter")
	if here {
		enter = b(l != nil && l.Seq != 0, "enter", "its chain of events", "enter")
	}
	return []key.Binding{
		b(true, "]/space", "the other part", "]", "[", "space"),
		enter,
		b(here && l != nil && l.State != healed, "x", "heal it", "x"),
		b(s.leases.broken > 0, "X", "heal all", "X"),
		b(s.list().Len() > 0, "↑↓/jk", "choose", "up", "down", "k", "j"),
		b(s.list().Len() > 0, "g/G", "first, last", "g", "G", "home", "end"),
		b(s.list().Len() > 0, "pgup/pgdn", "a page", "pgup", "pgdown", "ctrl+u", "ctrl+d"),
		b(s.place.about > 0 && (l != nil || k != nil), "J/K", "scroll its description", "J", "K"),
	}
}

// Click implements [panel.Clicker]: it selects.
func (s *Screen) Click(x, y int) (intent.Intent, bool) {
	switch in := y - s.place.force; {
	case y < 0 || y >= s.height:
		return nil, false
	case in < 0:
		s.turn(inForce)
		s.force.Click(y - 1)
	case s.place.about > 0 && x > s.place.list:
		return nil, true
	default:
		s.turn(catalogue)
		s.catalogue.Click(in - 1)
	}
	return nil, true
}

// Wheel implements [panel.Clicker].
func (s *Screen) Wheel(lines int) { s.move(lines) }
