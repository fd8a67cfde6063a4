package archtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Rule is one kind of thing that is not done here.
type Rule struct {
	Name  string
	check func(*Module) []Violation
}

// Rules returns all of them.
func Rules() []Rule {
	return []Rule{
		{"floors", checkFloors},
		{"tests", checkTests},
		{"sealed", checkSealed},
		{"confined", checkConfined},
		{"linked", checkLinked},
		{"reserved", checkReserved},
		{"names", checkNames},
		{"documented", checkDocumented},
	}
}

// Violation is one place where a rule is broken.
type Violation struct {
	File string
	Line int // of the import; 0 when it is not about one
	Rule string
	// What is done there, and Why it is not to be.
	What, Why string
}

// String is one line: place, deed, rule, reason.
func (v Violation) String() string {
	place := v.File
	if v.Line > 0 {
		place = fmt.Sprintf("%s:%d", v.File, v.Line)
	}
	return fmt.Sprintf("%s: %s (%s: %s)", place, v.What, v.Rule, v.Why)
}

// Check applies every rule and returns what breaks one, in the order of files.
func Check(m *Module) []Violation {
	var all []Violation
	for _, r := range Rules() {
		for _, v := range r.check(m) {
			v.Rule = r.Name
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b Violation) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(a.Rule, b.Rule))
	})
	return all
}

// violation is about an import.
func violation(f File, i Import, why, format string, args ...any) Violation {
	return Violation{File: f.Path, Line: i.Line, What: fmt.Sprintf(format, args...), Why: why}
}
