package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// Theme is a group of kinds that are about the same part of the world.
type Theme struct {
	// Name is the name of the package, Title a heading.
	Name  string
	Title string
	// Kinds are sorted by name.
	Kinds []*fault.Kind
}

// Themes returns all kinds by theme, from the VM up to Kubernetes.
func Themes() []Theme {
	all := themes()
	for i := range all {
		slices.SortFunc(all[i].Kinds, func(a, b *fault.Kind) int { return strings.Compare(a.Name, b.Name) })
	}
	return all
}

// Kinds returns all kinds, in the order of [Themes].
func Kinds() []*fault.Kind {
	var all []*fault.Kind
	for _, t := range Themes() {
		all = append(all, t.Kinds...)
	}
	return all
}

// Names returns the names of all kinds, in the order of [Themes].
func Names() []string {
	var all []string
	for _, k := range Kinds() {
		all = append(all, k.Name)
	}
	return all
}

// Find returns the kind of that name. Its error is a [*fault.Refusal] that guesses what was meant.
func Find(name string) (*fault.Kind, error) { return fault.Find(Kinds(), name) }

// FindTheme returns the theme of that name. Its error is a [*fault.Refusal] that guesses what was meant.
func FindTheme(name string) (Theme, error) {
	var names []string
	for _, t := range Themes() {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	message := fmt.Sprintf("theme %q: there is none of that name", name)
	if near := nearest.Of(name, names); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	} else {
		message += "; there is " + strings.Join(names, ", ")
	}
	return Theme{}, &fault.Refusal{Code: "not-found", Message: message, Try: "vsphere-sandbox fault list"}
}
