// Package report is what the ways to tell the results of scenarios share: words and numbers. Each way is a package below:
// live (text, while it happens, and the table at the end), document (JSON), junit, artifacts (a directory as TestGrid
// reads it) and page (one HTML file).
//
// They read [result.Suite] and write to a writer or a directory that they are given. None knows how it came about.
//
// Floor 4.
package report
