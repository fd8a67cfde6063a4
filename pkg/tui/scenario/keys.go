package scenario

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
)

// Handle implements [panel.Panel].
func (s *Screen) Handle(k tea.KeyPressMsg) (intent.Intent, bool) {
	switch k.String() {
	case "up", "k":
		s.move(-1)
	case "down", "j":
		s.move(1)
	case "pgup", "ctrl+u":
		s.move(-s.page())
	case "pgdown", "ctrl+d":
		s.move(s.page())
	case "home", "g":
		s.move(-len(s.blocks))
	case "end", "G":
		s.move(len(s.blocks))
	case "t":
		s.follow = !s.follow
		s.lay()
	case "enter":
		return s.open(), true
	default:
		return nil, false
	}
	return nil, true
}

// open is the chain of the event that decided a step.
func (s *Screen) open() intent.Intent {
	switch st := s.step(); {
	case st == nil:
		return nil
	case st.Event != 0:
		return intent.Chain{Seq: st.Event}
	case over(st.State):
		return intent.Say{Text: "no event decided this step"}
	}
	return intent.Say{Text: "this step is not decided yet"}
}

// Bindings implements [panel.Panel].
func (s *Screen) Bindings() []key.Binding {
	b := func(on bool, shown, does string, keys ...string) key.Binding {
		one := key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, does))
		one.SetEnabled(on)
		return one
	}
	st, some := s.step(), len(s.blocks) > 0
	return []key.Binding{
		b(st != nil && st.Event != 0, "enter", "the chain of what decided it", "enter"),
		b(s.run != nil, "t", "follow what runs on/off", "t"),
		b(some, "↑↓/jk", "choose", "up", "down", "k", "j"),
		b(some, "g/G", "first, last", "g", "G", "home", "end"),
		b(some, "pgup/pgdn", "a page", "pgup", "pgdown", "ctrl+u", "ctrl+d"),
	}
}

// Click implements [panel.Clicker]: the step that is clicked on is selected.
func (s *Screen) Click(_, y int) (intent.Intent, bool) {
	if s.run == nil || y < 0 || y >= s.height {
		return nil, false
	}
	line := y - len(s.head()) + s.top
	if y < len(s.head()) || y >= s.height-len(s.foot()) {
		return nil, true
	}
	for i := range s.blocks {
		if line -= s.blocks[i].height(); line < 0 {
			s.move(i - s.cursor)
			break
		}
	}
	return nil, true
}

// Wheel implements [panel.Clicker].
func (s *Screen) Wheel(lines int) { s.move(lines) }
