// Package verdict decides how the results of a release count: which failures are regressions against a baseline, which are of
// defects that are known, and which fail the run.
//
//	judgment := verdict.Rules{Baseline: true}.Judge(verdict.Check{Result: &now, Baseline: &before})
//
// Everything that prints results (tables, JUnit, TestGrid files, the HTML report) prints what is decided here, and decides
// nothing.
//
// Floor 4. It runs nothing.
package verdict
