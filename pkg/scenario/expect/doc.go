// Package expect evaluates what a scenario expects of the world.
//
// An [Expectation] is read from YAML. [Expectation.Track] returns a [Tracker], which evaluates it after every change of the world
// and describes what it found instead. Trackers remember the events that they have seen, so that each evaluation covers only new
// ones. An expectation never changes, and may be tracked any number of times.
//
// Floor 4, between the world and the runner of package scenario.
package expect
