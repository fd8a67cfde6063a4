package tuitest

import (
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

// At is the state of the story so long after it has begun.
func At(d time.Duration) *fold.State {
	s := fold.New(About(), 0)
	To(s, 0, d)
	return s
}

// To tells a state the lines of the story that come after from and not after to: Began+from < time <= Began+to. From 0
// tells those of the beginning, too.
func To(s *fold.State, from, to time.Duration) {
	for _, line := range Story() {
		at := line.Time.Sub(Began)
		if at <= to && (at > from || from <= 0) {
			s.Apply(line.Time, line.Update)
		}
	}
	s.Tick(Began.Add(to))
}
