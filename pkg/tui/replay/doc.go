// Package replay plays a recording of a sandbox: it folds its lines into a [fold.State], forwards as time passes and
// backwards by beginning again. The state at a time is the same however one came there.
//
//	p, err := replay.Open("events.jsonl")
//	s := p.Seek(30 * time.Second)
//	for ended := false; !ended; {
//		s, ended = p.Step(50 * time.Millisecond)
//	}
//
// It has no clock: who plays says how much of the recorded time has passed.
//
// Floor 4, in the tree of pkg/tui.
package replay
