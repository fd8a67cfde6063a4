// Package result is what came of running scenarios: plain values that package scenario fills in as it runs and that
// package report tells, as text, JSON, JUnit, TestGrid artifacts and a page.
//
// A [Suite] is one run of some scenarios, a [Scenario] what came of one of them, a [Step] of one of its steps. While a
// run goes on, an [Update] tells each change to whoever wants to show it.
//
// Floor 4. It decides nothing: verdicts are given by the runner.
package result
