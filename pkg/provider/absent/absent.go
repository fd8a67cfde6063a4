// Package absent decides which names of a configuration a vCenter does not have: datacenters, tag categories and networks.
// The provider reports them in Events, metrics and probes; explain, doctor and ccm status ask the same functions.
//
//	for _, name := range absent.Find(absent.Wanted{Datacenters: vc.Datacenters}, absent.Present{Datacenters: datacenters}) {
//		fmt.Println(name) // datacenter "DC-Nrod" not found (did you mean "DC-Nord"?)
//	}
//
// The package has no vSphere client and keeps no state.
//
// Floor 1: of this module it imports only package nearest.
package absent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

// Kind is what a name is the name of.
type Kind string

// The kinds of names.
const (
	Datacenter Kind = "datacenter"
	Category   Kind = "tag category"
	Network    Kind = "network"
)

// Name is a configured name that a vCenter does not have, or does not show to the account.
type Name struct {
	Kind Kind
	// Name is as configured.
	Name string
	// Now is what the object that had the name is called now; "" if unknown. Near is a similar name that the vCenter has;
	// "" for none.
	Now, Near string
}

// String returns the name with what is wrong about it, as a part of a sentence: datacenter "DC-Nrod" not found (did you
// mean "DC-Nord"?).
func (n Name) String() string {
	text := fmt.Sprintf("%s %q ", n.Kind, n.Name)
	switch n.Kind {
	case Category:
		text += "does not exist"
	case Network:
		text += "is not among the networks that guests report"
	default:
		text += "not found"
	}
	switch {
	case n.Now != "":
		text += fmt.Sprintf(" (it is called %q now)", n.Now)
	case n.Near != "":
		text += fmt.Sprintf(" (did you mean %q?)", n.Near)
	}
	return text
}

// Join returns the texts of names as one list.
func Join(names []Name) string {
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = n.String()
	}
	return strings.Join(texts, "; ")
}

// Hiding returns the names without which VMs are not found: those of datacenters.
func Hiding(names []Name) []Name {
	return slices.DeleteFunc(slices.Clone(names), func(n Name) bool { return n.Kind != Datacenter })
}

// Error reports that a vCenter lacks configured names. VMs may be hidden by them.
type Error struct {
	VCenter string
	Names   []Name // at least one
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("vcenter %q: %s", e.VCenter, Join(e.Names)) }

// Wanted are the names that a configuration has for one vCenter.
type Wanted struct {
	// Datacenters are names, inventory paths or references; see [Place.Is].
	Datacenters []string
	Categories  []string
	Networks    []string
}

// Present is what a vCenter has. A kind that is nil is unknown, and none of its names is reported.
type Present struct {
	Datacenters []Place
	Categories  []string
	// Networks are those that guests report.
	Networks []string
}

// Place is a datacenter.
type Place struct {
	// Ref is its reference, "Datacenter:datacenter-3"; "" if unknown.
	Ref string
	// Name is its name, and Path its inventory path, "/folder/name".
	Name, Path string
}

// Is reports whether want, a name, a path or a reference, identifies the datacenter.
func (p Place) Is(want string) bool {
	switch {
	case want == p.Ref && want != "":
		return true
	case strings.Contains(want, "/"):
		return strings.Trim(want, "/") == strings.Trim(p.Path, "/")
	}
	return want == p.Name
}

// called returns the datacenter in the form of want.
func (p Place) called(want string) string {
	if strings.Contains(want, "/") {
		return p.Path
	}
	return p.Name
}

// Split returns the datacenters that configured entries stand for. An entry with commas is a list, unless it is the name or the
// path of a datacenter: generators of vsphere.conf write a list into one entry (rancher/vsphere-charts), and names may have commas
// (kubernetes/cloud-provider-vsphere#482).
func Split(configured []string, places []Place) (all []string) {
	for _, want := range configured {
		if !strings.Contains(want, ",") || slices.ContainsFunc(places, func(p Place) bool { return p.Is(want) }) {
			all = append(all, want)
			continue
		}
		for part := range strings.SplitSeq(want, ",") {
			if part = strings.TrimSpace(part); part != "" {
				all = append(all, part)
			}
		}
	}
	return all
}

// Find returns the wanted names that a vCenter does not have, in the order of w.
func Find(w Wanted, p Present) (names []Name) {
	if p.Datacenters != nil {
		names = datacenters(w.Datacenters, p.Datacenters)
	}
	names = append(names, among(Category, w.Categories, p.Categories, func(a, b string) bool { return a == b })...)
	return append(names, among(Network, w.Networks, p.Networks, strings.EqualFold)...)
}

func datacenters(wanted []string, places []Place) (names []Name) {
	for _, want := range Split(wanted, places) {
		if slices.ContainsFunc(places, func(p Place) bool { return p.Is(want) }) {
			continue
		}
		names = append(names, Name{Kind: Datacenter, Name: want, Near: near(want, places)})
	}
	return names
}

// near returns the datacenter that want probably stands for: a similar name or path, or the only one of the last name in a
// path, whose folder was renamed.
func near(want string, places []Place) string {
	var candidates, same []string
	last := want[strings.LastIndexByte(want, '/')+1:]
	for _, p := range places {
		candidates = append(candidates, p.called(want))
		if p.Name == last {
			same = append(same, p.Path)
		}
	}
	if len(same) == 1 {
		return same[0]
	}
	return nearest.Of(want, candidates)
}

func among(kind Kind, wanted, present []string, same func(a, b string) bool) (names []Name) {
	if present == nil {
		return nil
	}
	for _, want := range wanted {
		known := func(n Name) bool { return n.Name == want }
		if want == "" || slices.ContainsFunc(names, known) || slices.ContainsFunc(present, func(have string) bool { return same(have, want) }) {
			continue
		}
		names = append(names, Name{Kind: kind, Name: want, Near: nearest.Of(want, present)})
	}
	return names
}

// Renamed adds to names of datacenters what they are called now. ref returns the reference under which a name was found
// before, or "".
func Renamed(names []Name, places []Place, ref func(name string) string) {
	for i := range names {
		before := ref(names[i].Name)
		at := slices.IndexFunc(places, func(p Place) bool { return before != "" && p.Ref == before })
		if names[i].Kind == Datacenter && at >= 0 {
			names[i].Now = places[at].called(names[i].Name)
		}
	}
}
