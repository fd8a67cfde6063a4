package calls

import (
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/table"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// Screen is the screen of the calls, a [panel.Panel]. Make it with [New]. It is for one goroutine.
type Screen struct {
	width, height int
	theme         *theme.Theme
	state         *fold.State
	table         table.Table

	by     grouping
	order  order
	filter string

	rows  map[string]*row    // by the keys of the table
	rates map[string]float64 // calls per second, by vCenter, including filtered ones
	made  stamp
}

// stamp identifies the data that rows were made from.
type stamp struct {
	state  *fold.State
	calls  uint64
	second int64 // rates fall without updates
	by     grouping
	order  order
	filter string
}

// New returns the screen, sorted by rate.
func New() *Screen {
	s := &Screen{theme: theme.Mono()}
	s.table.SetTheme(s.theme)
	s.table.SetColumns(s.columns())
	return s
}

// SetSize sets its size, in cells.
func (s *Screen) SetSize(width, height int) {
	s.width, s.height = max(0, width), max(0, height)
	_, rows, _ := s.heights()
	s.table.SetSize(s.width, rows)
}

// SetTheme sets its theme.
func (s *Screen) SetTheme(t *theme.Theme) {
	s.theme = t
	s.table.SetTheme(t)
}

// SetState applies the changes of the state.
func (s *Screen) SetState(state *fold.State) {
	s.state = state
	s.make()
}

// SetFilter shows only the calls with all words in their vCenter, client, method or last error.
func (s *Screen) SetFilter(filter string) {
	s.filter = filter
	s.make()
}

// make makes the rows, if their data has changed.
func (s *Screen) make() {
	if s.state == nil {
		return
	}
	now := s.state.Now()
	made := stamp{s.state, s.state.Version(fold.Calls), now.Unix(), s.by, s.order, s.filter}
	if made == s.made {
		return
	}
	s.made = made
	all := s.state.Calls()
	s.rates = map[string]float64{}
	for i := range all {
		s.rates[all[i].VCenter] += all[i].Rate
	}
	list := s.order.sorted(sum(all, s.state.Bursts(), s.by, matcher(s.filter), now))
	s.rows = make(map[string]*row, len(list))
	rows := make([]table.Row, len(list))
	for i, r := range list {
		s.rows[r.key] = r
		rows[i] = table.Row{Key: r.key, Cells: func() []table.Cell { return s.cells(r) }}
	}
	s.table.Empty = "no vCenter has been called yet"
	if s.filter != "" {
		s.table.Empty = "no call matches " + text.Clean(s.filter)
	}
	s.table.SetColumns(s.columns())
	s.table.SetRows(rows)
}

// selected returns the row with the cursor.
func (s *Screen) selected() (*row, bool) {
	key, ok := s.table.Key()
	if !ok {
		return nil, false
	}
	r, ok := s.rows[key]
	return r, ok
}

// vcenter returns the vCenter of the selected row, if there is only one.
func (s *Screen) vcenter() (api.VCenter, bool) {
	r, ok := s.selected()
	if !ok || r.vcenter == "" || s.state == nil {
		return api.VCenter{}, false
	}
	for _, vc := range world.Values[api.VCenter](s.state.World(), world.VCenter) {
		if vc.Name == r.vcenter {
			return vc, true
		}
	}
	return api.VCenter{}, false
}

// Subject returns the vCenter of the selected row.
func (s *Screen) Subject() (api.Subject, bool) {
	r, ok := s.selected()
	if !ok || r.vcenter == "" {
		return api.Subject{}, false
	}
	return api.Subject{Kind: "vcenter", Name: r.vcenter}, true
}

// Choose selects the first row of a vCenter.
func (s *Screen) Choose(subject api.Subject) bool {
	if subject.Kind != "vcenter" {
		return false
	}
	var first *row
	for _, r := range s.order.sorted(values(s.rows)) {
		if r.vcenter == subject.Name {
			first = r
			break
		}
	}
	return first != nil && s.table.Choose(first.key)
}

func values(rows map[string]*row) []*row {
	all := make([]*row, 0, len(rows))
	for _, r := range rows {
		all = append(all, r)
	}
	return all
}

// ago returns the age of a time.
func (s *Screen) ago(at time.Time) time.Duration { return s.state.Now().Sub(at) }

// far is beyond the end of any table.
const far = 1 << 30

// Handle handles a key.
func (s *Screen) Handle(k tea.KeyPressMsg) (intent.Intent, bool) {
	if s.state == nil {
		return nil, false
	}
	page := s.table.Page()
	switch k.String() {
	case "up", "k":
		s.table.Move(-1)
	case "down", "j":
		s.table.Move(1)
	case "pgup":
		s.table.Move(-page)
	case "pgdown":
		s.table.Move(page)
	case "ctrl+u":
		s.table.Move(-max(1, page/2))
	case "ctrl+d":
		s.table.Move(max(1, page/2))
	case "home", "g":
		s.table.Move(-far)
	case "end", "G":
		s.table.Move(far)
	case "s":
		s.order = (s.order + 1) % orders
		s.make()
	case "v":
		s.by = (s.by + 1) % groupings
		s.make()
	case "space":
		return s.sameClient(), true
	case "enter":
		if r, ok := s.selected(); ok {
			return intent.Exchange{VCenter: r.vcenter, Client: r.client, Method: r.method}, true
		}
	case "D":
		return s.gate(), true
	case "S":
		return s.slow(), true
	default:
		return nil, false
	}
	return nil, true
}

// ofNone is the message for a row of several vCenters.
func ofNone() intent.Intent { return intent.Say{Text: "select a row of one vCenter", Bad: true} }

// gate takes the vCenter of the selected row down, or brings it up again.
func (s *Screen) gate() intent.Intent {
	vc, ok := s.vcenter()
	if !ok {
		return ofNone()
	}
	mode := "up"
	if vc.Gate == "up" {
		mode = "down"
	}
	return intent.Gate{GateRequest: api.GateRequest{VCenter: vc.Name, Mode: mode}}
}

// slow opens the prompt with the command that slows the vCenter of the selected row.
func (s *Screen) slow() intent.Intent {
	vc, ok := s.vcenter()
	if !ok {
		return ofNone()
	}
	return intent.Prompt{Text: "vcenter slow " + intent.Quote(vc.Name) + " --delay 2s"}
}

// sameClient filters by the client of the selected row, or removes that filter.
func (s *Screen) sameClient() intent.Intent {
	r, ok := s.selected()
	if !ok || r.client == "" {
		return intent.Say{Text: "select a row of one client", Bad: true}
	}
	if s.filter == r.client {
		return intent.Filter{}
	}
	return intent.Filter{Text: r.client}
}

// Writes returns the keys that change the sandbox.
func (s *Screen) Writes() []string { return []string{"D", "S"} }

// Bindings returns the keys that have an effect now.
func (s *Screen) Bindings() []key.Binding {
	b := func(on bool, shown, does string, keys ...string) key.Binding {
		k := key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, does))
		k.SetEnabled(on)
		return k
	}
	vc, one := s.vcenter()
	r, any := s.selected()
	down := "take its vCenter down"
	if one && vc.Gate != "up" {
		down = "bring its vCenter back"
	}
	next := "sort by " + ((s.order + 1) % orders).String()
	group := "one row per call"
	if g := (s.by + 1) % groupings; g != byCall {
		group = "sum up " + g.String()
	}
	return []key.Binding{
		b(any, "enter", "open its newest call", "enter"),
		b(true, "s", next, "s"),
		b(true, "v", group, "v"),
		b(one, "D", down, "D"),
		b(one, "S", "slow its vCenter down", "S"),
		b(any && r.client != "", "space", "only its client", "space"),
		b(any, "↑↓/jk", "select", "up", "down", "k", "j"),
		b(any, "g/G", "first/last", "home", "g", "end", "G"),
		b(any, "pgup/pgdn", "page", "pgup", "pgdown"),
		b(any, "ctrl+u/ctrl+d", "half a page", "ctrl+u", "ctrl+d"),
	}
}

// Click selects a row; on the title of the table, it sorts by the next column.
func (s *Screen) Click(_, y int) (intent.Intent, bool) {
	title, rows, _ := s.heights()
	switch y -= title; {
	case s.state == nil || y < 0 || y >= rows:
		return nil, false
	case y == 0:
		s.order = (s.order + 1) % orders
		s.make()
		return nil, true
	}
	return nil, s.table.Click(y)
}

// Wheel moves by some rows.
func (s *Screen) Wheel(lines int) { s.table.Move(lines) }
