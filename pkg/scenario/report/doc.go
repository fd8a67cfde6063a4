// Package report has the common parts of the reports of scenarios: words and numbers. Each report is a package below: live
// (progress as text, and the table at the end), document (JSON), junit, artifacts (a directory as TestGrid reads it) and page
// (one HTML file).
//
// They read [result.Suite], and write to the caller's writer or directory.
//
// Floor 4.
package report
