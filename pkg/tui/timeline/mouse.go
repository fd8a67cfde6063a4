package timeline

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"

// Click selects a row; on the one that is selected it is enter. On the first line it follows, or stops.
func (s *Screen) Click(_, y int) (intent.Intent, bool) {
	head, rows, _ := s.heights()
	if s.state == nil || y < 0 || y >= head+rows {
		return nil, false
	}
	if y < head {
		if y == 0 && s.chain == nil {
			s.follow(s.paused)
		}
		return nil, true
	}
	at, n, w := y-head, len(s.shown.rows), &s.shown.window
	if s.chain != nil {
		n, w = len(s.chain.links), &s.chain.window
	}
	switch i := w.top + at; {
	case i >= n:
	case i == w.cursor:
		return s.enter(false), true
	case s.chain == nil:
		s.stay(i)
	default:
		w.set(i, n)
	}
	return nil, true
}

// Wheel moves by some rows.
func (s *Screen) Wheel(lines int) {
	if s.state != nil {
		s.move(lines)
	}
}
