// Package fold is what the terminal UI knows of a sandbox: the [State], folded from the stream of updates in which a
// sandbox, or a recording of one, tells everything that changes.
//
// The rows are those of pkg/sandbox/api/world, which scenarios judge by, so that a screen and an expectation see the same.
// The state adds what only people look at: what changed a moment ago, where the planes disagree, rates of calls. It
// reads no clock: times come with the updates, and from whoever says that time has passed.
//
//	s := fold.New(about, 0)
//	s.Apply(at, updates...)
//	for _, f := range s.Findings() {
//		fmt.Println(f.Name, f.Text, f.Settling)
//	}
//	time.AfterFunc(s.NextTick(), …) // and then s.Tick: nothing changes by itself before
//
// What is remembered has bounds: so many events, so many bursts of calls, changes of the last moments. What is listed is
// sorted, and depends on what was told and when, not on who asked for it: two replays of a recording give one state.
//
// Floor 4, in the tree of pkg/tui. internal/pace tells it how long a lag is normal.
package fold
