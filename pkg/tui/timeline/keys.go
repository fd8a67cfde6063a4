package timeline

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
)

// far is further than any timeline is long.
const far = 1 << 30

// Handle takes a key.
func (s *Screen) Handle(k tea.KeyPressMsg) (intent.Intent, bool) {
	if s.state == nil {
		return nil, false
	}
	if by, ok := s.way(k.String()); ok {
		s.move(by)
		return nil, true
	}
	switch k.String() {
	case "enter", "c":
		return s.enter(k.String() == "c"), true
	case "space":
		return s.sameObject(), true
	case "esc":
		if s.chain == nil {
			return nil, false
		}
		s.chain = nil
		return nil, true
	}
	if s.chain != nil {
		return nil, false
	}
	switch k.String() {
	case "t":
		s.follow(s.paused)
		return nil, true
	case "i", "I":
		return s.fault(k.String() == "I"), true
	case "b":
		s.calls = (s.calls + 1) % callChoices
		s.again()
		return nil, true
	}
	return nil, false
}

// way is by how many rows a key moves.
func (s *Screen) way(key string) (by int, ok bool) {
	page := max(1, s.shown.height)
	switch key {
	case "up", "k":
		return -1, true
	case "down", "j":
		return 1, true
	case "pgup":
		return -page, true
	case "pgdown":
		return page, true
	case "ctrl+u":
		return -max(1, page/2), true
	case "ctrl+d":
		return max(1, page/2), true
	case "home", "g":
		return -far, true
	case "end", "G":
		return far, true
	}
	return 0, false
}

// move moves the cursor. Upwards it stops following; at the end, or further than it, it follows again.
func (s *Screen) move(by int) {
	if s.chain != nil {
		s.chain.move(by, len(s.chain.links))
		return
	}
	n := len(s.shown.rows)
	switch {
	case by == far, by > 0 && s.shown.cursor >= n-1:
		s.follow(true)
	case by < 0 && !s.paused && n > 0:
		s.follow(false)
		s.shown.move(by, n)
	default:
		s.shown.move(by, n)
	}
}

// enter shows the chain of the selected event; in a chain, the event in the log.
func (s *Screen) enter(back bool) intent.Intent {
	e, ok := s.event()
	if s.chain != nil {
		s.chain = nil
		if ok && !back {
			s.show(e.Seq)
		}
		return nil
	}
	if !ok {
		if r, there := s.shown.selected(); there && r.burst != nil {
			return intent.Go{Screen: intent.Calls}
		}
		return intent.Say{Text: "no event is selected", Bad: true}
	}
	s.ShowChain(e.Seq)
	return nil
}

// show selects an event of the log, if it is among those that are shown.
func (s *Screen) show(seq uint64) {
	if i := s.shown.find(seq); i < len(s.shown.rows) && s.shown.rows[i].seq == seq && s.shown.rows[i].isEvent() {
		s.stay(i)
	}
}

// sameObject filters by the object of the selected event; when it does that already, no more.
func (s *Screen) sameObject() intent.Intent {
	e, ok := s.event()
	if !ok || e.Object.Name == "" {
		return intent.Say{Text: "the row is not about an object", Bad: true}
	}
	s.chain = nil
	text := "object:" + e.Object.Name
	if strings.Contains(text, " ") {
		text = `object:"` + e.Object.Name + `"`
	}
	if text == s.filterText {
		text = ""
	}
	return intent.Filter{Text: text}
}

// fault goes to the next fault that was injected, or to the one before.
func (s *Screen) fault(next bool) intent.Intent {
	r, ok := s.shown.selected()
	if !ok {
		return nil
	}
	from := r.seq
	if !r.isEvent() && !next { // it stands behind the event of its Seq
		from++
	}
	for {
		seq, ok := s.causes.fault(from, next)
		if !ok {
			where := "above"
			if next {
				where = "below"
			}
			return intent.Say{Text: "no injected fault " + where, Bad: true}
		}
		if i := s.shown.find(seq); i < len(s.shown.rows) && s.shown.rows[i].seq == seq {
			s.stay(i)
			return nil
		}
		from = seq // a filter hides it
	}
}

// Bindings are the keys that it takes now.
func (s *Screen) Bindings() []key.Binding {
	b := func(on bool, shown, does string, keys ...string) key.Binding {
		k := key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, does))
		k.SetEnabled(on)
		return k
	}
	_, isEvent := s.event()
	chain, any := s.chain != nil, len(s.shown.rows) > 0
	follow := "stop following"
	if s.paused {
		follow = "follow"
	}
	enter := b(isEvent, "enter/c", "chain: cause to effects", "enter", "c")
	if r, there := s.shown.selected(); there && !chain && !isEvent && r.burst != nil {
		enter = b(true, "enter", "all calls", "enter")
	}
	if chain {
		enter = b(isEvent, "enter", "show in the log", "enter")
	}
	return []key.Binding{
		enter,
		b(chain, "esc/c", "back to the log", "esc", "c"),
		b(!chain, "t", follow, "t"),
		b(isEvent, "space", "only its object", "space"),
		b(!chain && len(s.causes.faults) > 0, "i/I", "previous/next fault", "i", "I"),
		b(!chain, "b", ((s.calls + 1) % callChoices).String(), "b"),
		b(any, "↑↓/jk", "select", "up", "down", "k", "j"),
		b(any, "g/G", "first/last", "home", "g", "end", "G"),
		b(any, "pgup/pgdn", "page", "pgup", "pgdown"),
		b(any, "ctrl+u/ctrl+d", "half a page", "ctrl+u", "ctrl+d"),
	}
}
