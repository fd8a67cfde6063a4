package scenario

import (
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
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

// New returns the screen. It follows the step that runs until a person moves.
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

// another tells whether b is another run than a, and not only news of it.
func another(a, b *api.Run) bool {
	return a == nil || b == nil || a.Name != b.Name || !a.Began.Equal(b.Began) || a.Number != b.Number
}

// SetFilter implements [panel.Filterer].
func (s *Screen) SetFilter(filter string) {
	s.filter = filter
	s.lay()
}

// lay makes the blocks, and keeps the cursor on its step; of a run that is followed, on the step that runs.
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

// choose puts the cursor on a step, or on the one before it that is shown.
func (s *Screen) choose(step int) {
	s.cursor = 0
	for i := range s.blocks {
		if s.blocks[i].step <= step {
			s.cursor = i
		}
	}
}

// show scrolls so that the step with the cursor is seen, whole if it can be.
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

// move moves the cursor by so many steps.
func (s *Screen) move(by int) {
	if s.run == nil {
		return
	}
	s.follow = false
	s.cursor = max(0, min(s.cursor+by, len(s.blocks)-1))
	s.show()
}

// page is about how many steps are seen.
func (s *Screen) page() int {
	lines := 0
	for n := s.cursor; n < len(s.blocks); n++ {
		if lines += s.blocks[n].height(); lines > s.room() {
			return max(1, n-s.cursor)
		}
	}
	return max(1, s.room()/2)
}

// step is the one with the cursor; nil for none.
func (s *Screen) step() *api.RunStep {
	if s.cursor >= len(s.blocks) {
		return nil
	}
	return &s.run.Steps[s.blocks[s.cursor].step]
}

// Subject implements [panel.Selector]: what the event that decided the step is about.
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

// elapsed is how long the run took, or takes so far.
func (s *Screen) elapsed() time.Duration {
	if s.run.Ended != nil {
		return s.run.Ended.Sub(s.run.Began)
	}
	return s.state.Now().Sub(s.run.Began).Truncate(time.Second)
}
