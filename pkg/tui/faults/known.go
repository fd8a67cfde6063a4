package faults

import (
	"cmp"
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

// known has the names of all objects. In a large sandbox it is expensive to collect, so it may be a moment old.
type known struct {
	state *fold.State
	at    time.Time
	by    map[string][]thing
	// doubts caches the results of [known.stranger], by kind and value.
	doubts map[[2]string]string
}

// stale is the maximum age.
const stale = time.Second

// called returns the name of a subject for an injection: with its vCenter only if the name alone is ambiguous.
func (k *known) called(s api.Subject) string {
	if s.VCenter == "" || s.VCenter == s.Name || s.Kind == "node" {
		return s.Name
	}
	same := 0
	for _, c := range k.things(s.Kind) {
		if c.name == s.Name {
			same++
		}
	}
	if same > 1 {
		return s.VCenter + "/" + s.Name
	}
	return s.Name
}

// thing is an object with its name.
type thing struct{ name, vcenter string }

// things returns the objects of a kind, by name: nil for kinds without rows.
func (k *known) things(kind string) []thing {
	if k.by == nil || k.state.Now().Sub(k.at) >= stale {
		k.at, k.by, k.doubts = k.state.Now(), map[string][]thing{}, map[[2]string]string{}
	}
	all, ok := k.by[kind]
	if !ok {
		all = thingsOf(kind, k.state.World())
		k.by[kind] = all
	}
	return all
}

func thingsOf(kind string, w *world.World) []thing {
	var all []thing
	add := func(name, vcenter string) {
		if t := (thing{name, vcenter}); name != "" {
			all = append(all, t)
		}
	}
	switch kind {
	case "vm":
		for _, v := range world.Values[api.VM](w, world.VM) {
			add(v.Name, v.VCenter)
		}
	case "node":
		for _, n := range world.Values[api.Node](w, world.Node) {
			add(n.Name, "")
		}
	case "host":
		for _, h := range world.Values[api.Host](w, world.Host) {
			add(h.Name, h.VCenter)
		}
	case "vcenter":
		for _, v := range world.Values[api.VCenter](w, world.VCenter) {
			add(v.Name, "")
		}
	case "component":
		for _, c := range world.Values[api.Component](w, world.Component) {
			add(c.Name, "")
		}
	case "volume":
		for _, v := range world.Values[api.Volume](w, world.Volume) {
			add(cmp.Or(v.Claim, v.Name), "")
		}
	case "cluster":
		for _, h := range world.Values[api.Host](w, world.Host) {
			add(h.Cluster, h.VCenter)
		}
	case "datacenter":
		for _, h := range world.Values[api.Host](w, world.Host) {
			add(h.Datacenter, h.VCenter)
		}
	case "zone":
		for _, v := range world.Values[api.VM](w, world.VM) {
			add(v.Zone, "")
		}
	case "region":
		for _, v := range world.Values[api.VM](w, world.VM) {
			add(v.Region, "")
		}
	}
	slices.SortFunc(all, func(a, b thing) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.vcenter, b.vcenter)) })
	return slices.Compact(all)
}

// names returns the names of a kind: with the vCenter for those that share a name.
func (k *known) names(kind string) []string {
	var all []string
	list := k.things(kind)
	for i, t := range list {
		if t.vcenter != "" && (i > 0 && list[i-1].name == t.name || i+1 < len(list) && list[i+1].name == t.name) {
			all = append(all, t.vcenter+"/"+t.name)
			continue
		}
		all = append(all, t.name)
	}
	return all
}
