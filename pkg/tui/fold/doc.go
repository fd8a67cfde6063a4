// Package fold is the terminal UI's model of a sandbox: the [State], folded from the updates of a sandbox or a recording.
//
// Its rows are those of pkg/sandbox/api/world, which scenarios use too, so that a screen and an expectation agree. The state adds
// what a screen needs: recent changes, disagreements between the planes, rates of calls. It reads no clock: times come with the
// updates and from [State.Tick].
//
//	s := fold.New(about, 0)
//	s.Apply(at, updates...)
//	for _, f := range s.Findings() {
//		fmt.Println(f.Name, f.Text, f.Settling)
//	}
//	time.AfterFunc(s.NextTick(), …) // then call s.Tick: without updates nothing changes before
//
// Its memory is bounded: so many events, so many bursts of calls, recent changes. Lists are sorted, and depend only on the
// updates and their times: two replays of a recording give one state.
//
// Floor 4, in the tree of pkg/tui. internal/pace knows how long a lag is normal.
package fold
