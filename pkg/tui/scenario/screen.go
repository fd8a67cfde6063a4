package scenario

import (
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// Screen shows a run. Make it with [New].
type Screen struct {
	state   *fold.State
	version uint64
	theme   *theme.Theme
	run     *api.Run
	filter  string

	width, height int

	columns columns
	blocks  []block
	cursor  int // of the blocks
	top     int // the first line of the blocks that is seen
	follow  bool
}

// New returns the screen. It follows the current step until the user moves.
func New() *Screen { return &Screen{theme: theme.Mono(), follow: true} }

// SetSize implements [panel.Panel].
func (s *Screen) SetSize(width, height int) {
	s.width, s.height = width, height
	s.lay()
}

// SetTheme implements [panel.Panel].
func (s *Screen) SetTheme(t *theme.Theme) { s.theme = t }

// SetState implements [panel.Panel].
func (s *Screen) SetState(state *fold.State) {
	v := state.Version(fold.Run)
	if s.state == state && s.version == v {
		return
	}
	s.state, s.version = state, v
	r := state.Run()
	if another(s.run, r) {
		s.follow, s.cursor, s.top = true, 0, 0
	}
	s.run = r
	s.lay()
}

// another reports whether b is another run than a, rather than a newer state of it.
func another(a, b *api.Run) bool {
	return a == nil || b == nil || a.Name != b.Name || !a.Began.Equal(b.Began) || a.Number != b.Number
}

// SetFilter implements [panel.Filterer].
func (s *Screen) SetFilter(filter string) {
	s.filter = filter
	s.lay()
}

// lay makes the blocks, and keeps the cursor on its step, or on the current step if it follows.
func (s *Screen) lay() {
	step := -1
	if s.run != nil && s.follow {
		step = current(s.run)
	} else if s.cursor < len(s.blocks) {
		step = s.blocks[s.cursor].step
	}
	steps := 0
	if s.run != nil {
		steps = len(s.run.Steps)
	}
	s.columns = fit(s.width, steps)
	s.blocks = blocks(s.run, s.columns, s.filter)
	s.choose(step)
	s.show()
}

// choose moves the cursor to a step, or to the visible one before it.
func (s *Screen) choose(step int) {
	s.cursor = 0
	for i := range s.blocks {
		if s.blocks[i].step <= step {
			s.cursor = i
		}
	}
}

// show scrolls to the step with the cursor, in full if possible.
func (s *Screen) show() {
	room := s.room()
	first, total := 0, 0
	for i := range s.blocks {
		if i == s.cursor {
			first = total
		}
		total += s.blocks[i].height()
	}
	if s.cursor < len(s.blocks) {
		s.top = max(s.top, first+s.blocks[s.cursor].height()-room)
		s.top = min(s.top, first)
	}
	s.top = max(0, min(s.top, total-room))
}

// move moves the cursor by steps.
func (s *Screen) move(by int) {
	if s.run == nil {
		return
	}
	s.follow = false
	s.cursor = max(0, min(s.cursor+by, len(s.blocks)-1))
	s.show()
}

// page returns about how many steps are visible.
func (s *Screen) page() int {
	lines := 0
	for n := s.cursor; n < len(s.blocks); n++ {
		if lines += s.blocks[n].height(); lines > s.room() {
			return max(1, n-s.cursor)
		}
	}
	return max(1, s.room()/2)
}

// step returns the step with the cursor, or nil.
func (s *Screen) step() *api.RunStep {
	if s.cursor >= len(s.blocks) {
		return nil
	}
	return &s.run.Steps[s.blocks[s.cursor].step]
}

// Subject implements [panel.Selector]: the object of the event that decided the step.
func (s *Screen) Subject() (api.Subject, bool) {
	st := s.step()
	if st == nil || st.Event == 0 {
		return api.Subject{}, false
	}
	e, ok := s.state.World().Event(st.Event)
	if !ok || e.Object.Name == "" {
		return api.Subject{}, false
	}
	switch kind := strings.ToLower(e.Object.Kind); kind {
	case "vm", "node", "host", "vcenter", "component", "volume":
		return api.Subject{Kind: kind, VCenter: e.Object.VCenter, Name: e.Object.Name}, true
	}
	return api.Subject{}, false
}

// elapsed returns the duration of the run so far.
func (s *Screen) elapsed() time.Duration {
	if s.run.Ended != nil {
		return s.run.Ended.Sub(s.run.Began)
	}
	return s.state.Now().Sub(s.run.Began).Truncate(time.Second)
}

// The states of a run and of its steps.
const (
	pending = "pending"
	running = "running"
	passed  = "passed"
	failed  = "failed"
	errored = "error"
	skipped = "skipped"
)

// mark returns a state as a glyph and a word.
func mark(state string) string {
	glyph := theme.GlyphUnknown
	switch state {
	case pending:
		glyph = "·"
	case running:
		glyph = theme.GlyphWarn
	case passed:
		glyph = "✓"
	case failed, errored:
		glyph = theme.GlyphBad
	case skipped:
		glyph = theme.GlyphOff
	}
	return glyph + " " + text.Clean(state)
}

func style(th *theme.Theme, state string) theme.Style {
	switch state {
	case running:
		return th.Warn
	case passed:
		return th.Good
	case failed, errored:
		return th.Bad
	case pending, skipped:
		return th.Dim
	}
	return th.Text
}

// over reports whether a state is final.
func over(state string) bool { return state != pending && state != running }

// bad reports whether a state is a failure.
func bad(state string) bool { return state == failed || state == errored }

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

// open shows the chain of the event that decided a step.
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

// Click implements [panel.Clicker]: it selects a step.
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
