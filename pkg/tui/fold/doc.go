// Package fold is what the terminal UI knows of a sandbox: the [State], folded from the stream of updates in which a
// sandbox, or a recording of one, tells everything that changes.
//
// The rows are those of pkg/scenario/world, which scenarios judge by, so that a screen and an expectation see the same.
// The state adds what only people look at: what changed a moment ago, where the planes disagree, rates of calls. It
// reads no clock: times come with the updates, and from whoever says that time has passed.
//
// Floor 4, in the tree of pkg/tui.
package fold
