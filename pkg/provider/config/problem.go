package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing to say about a configuration.
type Problem struct {
	// File is the file's name as it was given, or "environment".
	File string
	// Line and Column count from 1; 0 when there is none.
	Line, Column int
	// Path is the key as it is written there: global.caFile, [Global] ca-file, VSPHERE_CAFILE. Empty for a whole file.
	Path    string
	Message string
	// Hint is what may have been meant, or what to do; often empty.
	Hint string
	// Warning is set when the configuration can be used nevertheless.
	Warning bool
}

// String returns "FILE:LINE: PATH: MESSAGE, HINT" without what is empty.
func (p Problem) String() string {
	s := p.File
	if p.Line > 0 {
		s += fmt.Sprintf(":%d", p.Line)
	}
	s += ": "
	if p.Path != "" {
		s += p.Path + ": "
	}
	s += p.Message
	if p.Hint != "" {
		s += ", " + p.Hint
	}
	return s
}

// Error is everything that is wrong with a configuration, in the order of the file where a line is known. None of the
// problems is a warning.
type Error struct {
	Problems []Problem
}

// Error lists the problems, one a line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// problems collects what there is to say.
type problems struct {
	list []Problem
}

func (p *problems) add(at position, warning bool, hint, format string, args ...any) {
	p.list = append(p.list, Problem{
		File: at.file, Line: at.line, Column: at.column, Path: at.path,
		Message: fmt.Sprintf(format, args...), Hint: hint, Warning: warning,
	})
}

func (p *problems) at(at position, hint, format string, args ...any) {
	p.add(at, false, hint, format, args...)
}

// mostHints is how many problems are looked for what may have been meant, which takes longer than finding them: a file that is
// noise has tens of thousands.
const mostHints = 1000

// unknown notes a key that nobody knows.
func (p *problems) unknown(at position, hint func() string) {
	said := ""
	if len(p.list) < mostHints {
		said = hint()
	}
	p.at(at, said, "unknown key")
}

func (p *problems) warn(at position, format string, args ...any) {
	p.add(at, true, "", format, args...)
}

// sorted returns the problems of the file by line, then those of the environment.
func (p *problems) sorted() []Problem {
	slices.SortStableFunc(p.list, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(environmentLast(a), environmentLast(b)),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
		)
	})
	return p.list
}

func environmentLast(p Problem) int {
	if p.File == environment {
		return 1
	}
	return 0
}
