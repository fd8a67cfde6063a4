package apply

import (
	"fmt"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// unchangeable lists the differences between topologies that a running vCenter cannot change.
func unchangeable(opts Options) (bad []Reason) {
	add := func(vcenter, path, format string, args ...any) {
		bad = append(bad, Reason{VCenter: vcenter, Path: path, Message: fmt.Sprintf(format, args...)})
	}
	want := &opts.Topology.Spec
	for i := range want.VCenters {
		if name := want.VCenters[i].Name; opts.Clients[name] == nil {
			add(name, "", "is not there: vCenters are not added live")
		}
	}
	for _, name := range slices.Sorted(mapKeys(opts.Clients)) {
		if vcenterOf(opts.Topology, name) == nil {
			add(name, "", "is not in the topology: vCenters are not removed live")
		}
	}
	if opts.Current == nil {
		return bad
	}
	had := &opts.Current.Spec
	if want.Categories != had.Categories {
		add("", "spec.categories", "region and zone are tags of %q and %q, and stay so", had.Categories.Region, had.Categories.Zone)
	}
	if !same(want.Stock, had.Stock) {
		add("", "spec.stock", "is decided when the vCenters start")
	}
	for i := range want.VCenters {
		now := &want.VCenters[i]
		before := vcenterOf(opts.Current, now.Name)
		if before == nil {
			continue
		}
		if now.Version != before.Version {
			add(now.Name, "", "is version %s, and no upgrade is made to %s", before.Version, now.Version)
		}
		if now.InstanceUUID != before.InstanceUUID {
			add(now.Name, "", "has the instanceUUID %s for life: the topology's, or its seed, changes it", before.InstanceUUID)
		}
		if now.Sessions != before.Sessions {
			add(now.Name, "", "sessions: limits are set when it starts")
		}
		if now.Reactions != before.Reactions {
			add(now.Name, "", "reactions: are set when it starts")
		}
		if !sameUsers(now.Users, before.Users) {
			add(now.Name, "", "users: accounts are no part of the vSphere API, and are made when it starts")
		}
	}
	return bad
}

func mapKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// same reports whether two lists have the same elements, in any order.
func same[T comparable](a, b []T) bool {
	return len(a) == len(b) && len(less(a, b)) == 0 && len(less(b, a)) == 0
}

// less returns the elements of a that are not in b.
func less[T comparable](a, b []T) []T {
	var rest []T
	for _, v := range a {
		if !slices.Contains(b, v) {
			rest = append(rest, v)
		}
	}
	return rest
}

func sameUsers(a, b []topology.User) bool {
	return slices.EqualFunc(a, b, func(a, b topology.User) bool {
		return a.Name == b.Name && a.Password == b.Password && same(a.Groups, b.Groups)
	})
}
