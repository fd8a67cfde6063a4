package prompt

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

// candidate is a word that continues a line.
type candidate struct {
	word string
	// note describes it.
	note string
}

// source has the names for completion: those of the state, and the catalogue.
type source struct {
	state *fold.State
	kinds []api.FaultKind
}

// names returns the names of a kind. about is the line so far, for kinds that depend on it.
func (s source) names(k kind, about given) []candidate {
	switch k {
	case roles:
		return words("control-plane", "worker")
	case modes:
		return words("one", "all", "50%")
	case faults:
		var all []candidate
		for _, f := range s.kinds {
			all = append(all, candidate{f.Name, f.Short})
		}
		return all
	case targets, settings:
		if f := s.fault(about); f != nil && k == targets {
			return s.names(object(f.Object), about)
		} else if f != nil {
			return params(f)
		}
		return nil
	}
	if s.state == nil {
		return nil
	}
	return s.live(k)
}

// live returns the names of existing objects.
func (s source) live(k kind) []candidate {
	w := s.state.World()
	switch k {
	case vms:
		return scoped(world.Values[api.VM](w, world.VM), func(v api.VM) (vcenter, name string) { return v.VCenter, v.Name })
	case hosts:
		return scoped(world.Values[api.Host](w, world.Host), func(h api.Host) (vcenter, name string) { return h.VCenter, h.Name })
	case nodes:
		return of(w, world.Node, func(n api.Node) string {
			if !n.Registered {
				return ""
			}
			return n.Name
		})
	case vcenters:
		return of(w, world.VCenter, func(v api.VCenter) string { return v.Name })
	case components:
		return of(w, world.Component, func(c api.Component) string { return c.Name })
	case datastores:
		return of(w, world.Volume, func(v api.Volume) string { return v.Datastore })
	case datacenters:
		return of(w, world.Host, func(h api.Host) string { return h.Datacenter })
	case clusters:
		return of(w, world.Host, func(h api.Host) string { return h.Cluster })
	case regions:
		return of(w, world.VM, func(v api.VM) string { return v.Region })
	case zones:
		return of(w, world.VM, func(v api.VM) string { return v.Zone })
	case volumes:
		return of(w, world.Volume, func(v api.Volume) string {
			if v.Claim != "" {
				return strings.TrimPrefix(v.Claim, "default/")
			}
			return v.Name
		})
	case leases:
		var all []candidate
		for _, l := range world.Values[api.Lease](w, world.Lease) {
			if l.State != "healed" {
				all = append(all, candidate{l.ID, l.Fault})
			}
		}
		return all
	}
	return nil
}

// fault returns the fault of the line.
func (s source) fault(about given) *api.FaultKind {
	if len(about.args) == 0 {
		return nil
	}
	i := slices.IndexFunc(s.kinds, func(f api.FaultKind) bool { return f.Name == about.args[0] })
	if i < 0 {
		return nil
	}
	return &s.kinds[i]
}

// object returns the kind of name of a fault's targets.
func object(o string) kind {
	return map[string]kind{
		"vm": vms, "node": nodes, "host": hosts, "zone": zones, "datacenter": datacenters, "cluster": clusters,
		"vcenter": vcenters, "component": components, "volume": volumes, "datastore": datastores,
	}[strings.ToLower(o)]
}

// params returns the parameters of a fault: NAME=, and NAME=VALUE if there are few values.
func params(f *api.FaultKind) []candidate {
	var all []candidate
	for _, p := range f.Params {
		all = append(all, candidate{p.Name + "=", p.Short})
		choices := p.Choices
		if p.Type == "bool" {
			choices = []string{"true", "false"}
		}
		for _, c := range choices {
			all = append(all, candidate{p.Name + "=" + c, p.Short})
		}
	}
	return all
}

func words(all ...string) []candidate {
	list := make([]candidate, len(all))
	for i, w := range all {
		list[i].word = w
	}
	return list
}

// of returns one name of each row, without duplicates.
func of[T any](w *world.World, k world.Kind, name func(T) string) []candidate {
	var all []candidate
	seen := map[string]bool{"": true}
	for _, v := range world.Values[T](w, k) {
		if n := name(v); !seen[n] {
			seen[n], all = true, append(all, candidate{word: n})
		}
	}
	return all
}

// scoped returns the names of objects of vCenters; ambiguous ones are prefixed with their vCenter.
func scoped[T any](rows []T, name func(T) (vcenter, name string)) []candidate {
	count := map[string]int{}
	for _, r := range rows {
		_, n := name(r)
		count[n]++
	}
	var all []candidate
	for _, r := range rows {
		vc, n := name(r)
		if count[n] > 1 {
			n = vc + "/" + n
		}
		all = append(all, candidate{word: n, note: "vCenter " + vc})
	}
	return all
}
