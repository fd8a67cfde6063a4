// Package replay plays a recording of a sandbox: it folds its lines into a [fold.State], forwards as time passes, and backwards
// by starting again. The state at a time does not depend on the path to it.
//
//	p, err := replay.Open("events.jsonl")
//	s := p.Seek(30 * time.Second)
//	for ended := false; !ended; {
//		s, ended = p.Step(50 * time.Millisecond)
//	}
//
// It has no clock: the caller passes the elapsed time.
//
// Floor 4, in the tree of pkg/tui.
package replay
