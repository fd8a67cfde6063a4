package command

import (
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

// Pick returns the items that the names stand for, in the names' order; without names, all items. An item may go by
// several names; a name may stand for several items. A name that stands for none is an error of code not-found.
func Pick[T any](kind string, items []T, names []string, goesBy func(T) []string) ([]T, error) {
	if len(names) == 0 {
		return items, nil
	}
	var picked []T
	taken := make([]bool, len(items))
	for _, name := range names {
		found := false
		for i, item := range items {
			for _, n := range goesBy(item) {
				if n != name {
					continue
				}
				found = true
				if !taken[i] {
					taken[i] = true
					picked = append(picked, item)
				}
				break
			}
		}
		if !found {
			return nil, NotFound(kind, name, allNames(items, goesBy))
		}
	}
	return picked, nil
}

// NotFound is the error for a name that nothing goes by; names are those that would have been understood.
func NotFound(kind, name string, names []string) error {
	e := &report.Error{Code: "not-found", Message: fmt.Sprintf("%s %q not found", kind, name)}
	if guess := nearest.Of(name, names); guess != "" {
		e.Message += fmt.Sprintf("; did you mean %q?", guess)
	}
	return e
}

func allNames[T any](items []T, goesBy func(T) []string) []string {
	var all []string
	for _, item := range items {
		all = append(all, goesBy(item)...)
	}
	return all
}
