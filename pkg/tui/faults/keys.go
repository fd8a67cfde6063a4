package faults

import (
	"fmt"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/table"
)

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
		return intent.Say{Text: "nothing is broken"}, true
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
		return intent.Say{Text: "nothing is broken"}, true
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
