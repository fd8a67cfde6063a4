package archtest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// vague names say what a package is for its author, not what it is.
func vague() []string {
	return []string{
		"util", "utils", "common", "helper", "helpers", "type", "types", "manager", "managers", "misc", "shared", "base",
		"core", "lib",
	}
}

func checkNames(m *Module) []Violation {
	var found []Violation
	for _, f := range m.Files {
		for _, name := range append(strings.Split(f.Dir, "/"), strings.TrimSuffix(f.Package, "_test")) {
			if slices.Contains(vague(), name) {
				found = append(found, Violation{
					File: f.Path, What: fmt.Sprintf("is in a package called %q", name),
					Why: "a package is a noun that a user of the field would say",
				})
				break
			}
		}
	}
	return found
}

// floorOf finds what a package comment says of its floor.
var floorOf = regexp.MustCompile(`(?m)^Floor (\d)\b`)

// checkDocumented wants a comment on every package, and that a floor named in it is the right one.
func checkDocumented(m *Module) []Violation {
	var found []Violation
	for _, f := range m.dirs() {
		if f.Test {
			continue // there are only tests
		}
		if f.Doc == "" {
			found = append(found, Violation{
				File: f.Path, What: fmt.Sprintf("package %s has no package comment", f.Package),
				Why: "go doc alone explains what each package is, and is not",
			})
		}
		said := floorOf.FindStringSubmatch(f.Doc)
		if own, _, ok := place(f.Dir); ok && said != nil && said[1] != strconv.Itoa(own.number) {
			found = append(found, Violation{
				File: f.Path, What: fmt.Sprintf("package comment says floor %s, the table of floors says %d", said[1], own.number),
				Why: "both are read",
			})
		}
	}
	return found
}
