package main

import (
	"fmt"
	"slices"
	"strings"
)

// release is one of Kubernetes.
type release struct{ version string }

// releases are those that nodes are made of, the default one first. A test keeps them equal to internal/kubernetes/release, which
// another module cannot import.
func releases() []release { return []release{{"v1.36.4"}, {"v1.37.2"}, {"v1.35.4"}, {"v1.34.4"}} }

// minor is the release's minor version: "36".
func (r release) minor() string { return strings.Split(r.version, ".")[1] }

// name is its minor version as it is written: "v1.36".
func (r release) name() string { return "v1." + r.minor() }

// modFile is its module file in programs/kube.
func (r release) modFile() string {
	if r == releases()[0] {
		return "go.mod"
	}
	return r.name() + ".mod"
}

// names are the releases' names.
func names() []string {
	var all []string
	for _, r := range releases() {
		all = append(all, r.name())
	}
	return all
}

// find returns the release with that version or minor version.
func find(name string) (release, error) {
	all := releases()
	i := slices.IndexFunc(all, func(r release) bool { return name == r.version || name == r.name() })
	if i < 0 {
		return release{}, fmt.Errorf("-kubernetes %s: want one of %s", name, strings.Join(names(), ", "))
	}
	return all[i], nil
}
