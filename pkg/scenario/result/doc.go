// Package result has the results of running scenarios: plain values that package scenario fills in, and that package report
// writes as text, JSON, JUnit, TestGrid artifacts and a page.
//
// A [Suite] is one run of some scenarios, a [Scenario] the result of one of them, a [Step] that of one of its steps. During a
// run, an [Update] reports each change.
//
// Floor 4. It decides nothing: the runner sets the verdicts.
package result
