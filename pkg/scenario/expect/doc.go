// Package expect holds what a scenario says of the world, and tells whether it is so.
//
// An [Expectation] is read from YAML; [Expectation.Track] makes a [Tracker] of it, which is asked again whenever the world
// has changed, and which can say what it found instead. Trackers hold what they have seen of events, so that a question is
// about what is new only; an expectation itself never changes and may be tracked any number of times.
//
// Floor 4, between the world and the runner of package scenario.
package expect
