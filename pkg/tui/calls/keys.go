package calls

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
)

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
