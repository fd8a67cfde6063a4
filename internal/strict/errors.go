package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxShown is how many errors Errors.Error spells out: enough to work through, few enough not to scroll away.
const maxShown = 40

// Error is one thing that is wrong with a file.
type Error struct {
	// File is the name of the file, or of one that it includes. Line and Column count from 1.
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	// Path is the field, such as spec.vcenters[0].name; empty where the file as a whole is meant.
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	// Hint is the name or value that was probably meant; often empty.
	Hint string `json:"hint,omitempty"`
}

// Error is the whole story on one line, in the form editors jump to.
func (e Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: ", e.File, e.Line, e.Column)
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Message)
	if e.Hint != "" {
		fmt.Fprintf(&b, " (did you mean %q?)", e.Hint)
	}
	return b.String()
}

// Errors is everything that is wrong with a file, sorted by position, the file itself before those that it includes. It is
// never empty; reach the parts with errors.As.
type Errors []Error

// Error lists the errors, one on each line. Past forty it says how many more there are.
func (e Errors) Error() string {
	var b strings.Builder
	for i, one := range e[:min(len(e), maxShown)] {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(one.Error())
	}
	if more := len(e) - maxShown; more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return b.String()
}

// Unwrap gives the errors one by one, for errors.Is and errors.As.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

func (e Errors) sort() {
	slices.SortStableFunc(e, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Path, b.Path))
	})
}
