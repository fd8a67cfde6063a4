package overview

import (
	"cmp"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// hosts adds the hosts without VMs, next to the VMs of their compute cluster, or else of their datacenter.
func (b *builder) hosts() {
	type around struct{ vcenter, datacenter, cluster string }
	type tags struct{ region, zone string }
	where := map[around]map[tags]bool{}
	used := map[vmPlace]bool{}
	for _, l := range b.order {
		if l.vm == nil {
			continue
		}
		for _, a := range []around{{l.vm.VCenter, l.vm.Datacenter, l.vm.Cluster}, {l.vm.VCenter, l.vm.Datacenter, ""}} {
			if where[a] == nil {
				where[a] = map[tags]bool{}
			}
			where[a][tags{l.vm.Region, l.vm.Zone}] = true
		}
		used[vmPlace{l.vm.VCenter, l.vm.Datacenter, l.vm.Host}] = true
	}
	for _, h := range world.Values[api.Host](b.s.World(), world.Host) {
		if used[vmPlace{h.VCenter, h.Datacenter, h.Name}] {
			continue
		}
		p := place{depth: host, vcenter: h.VCenter, datacenter: h.Datacenter, onHost: h.Name}
		for _, a := range []around{{h.VCenter, h.Datacenter, h.Cluster}, {h.VCenter, h.Datacenter, ""}} {
			if len(where[a]) == 1 {
				for t := range where[a] {
					p.region, p.zone = t.region, t.zone
				}
				break
			}
		}
		b.group(p)
	}
}

// group returns a group, and creates it with its parents if needed.
func (b *builder) group(p place) *group {
	if !b.tagged {
		p.region, p.zone = "", ""
	}
	if g := b.groups[p]; g != nil {
		return g
	}
	g := &group{place: p, key: p.id()}
	b.groups[p] = g
	up := p
	up.depth--
	switch p.depth {
	case apart:
		g.label = "no VM"
	case region:
		g.label = cmp.Or(p.region, "no region")
	case zone:
		g.label, up.zone = cmp.Or(p.zone, "no zone"), ""
	case datacenter:
		g.label, up.vcenter, up.datacenter = p.vcenter+"/"+p.datacenter, "", ""
	case host:
		g.label, up.onHost = cmp.Or(p.onHost, "no host"), ""
	}
	if p.depth == region || p.depth == apart || p.depth == datacenter && !b.tagged {
		b.roots = append(b.roots, g)
		return g
	}
	g.parent = b.group(up)
	g.parent.groups = append(g.parent.groups, g)
	return g
}

// headings sets the titles and the problems of groups.
func (b *builder) headings() {
	hosts := world.Values[api.Host](b.s.World(), world.Host)
	byPlace := make(map[vmPlace]int, len(hosts))
	for i, h := range hosts {
		byPlace[vmPlace{h.VCenter, h.Datacenter, h.Name}] = i
	}
	rows := b.s.World().Rows(world.Host)
	vcenters := world.Values[api.VCenter](b.s.World(), world.VCenter)
	for p, g := range b.groups {
		switch p.depth {
		case host:
			if i, ok := byPlace[vmPlace{p.vcenter, p.datacenter, p.onHost}]; ok {
				g.host, g.hostKey = &hosts[i], rows[i].Key
			}
		case datacenter:
			if i := slices.IndexFunc(vcenters, func(v api.VCenter) bool { return v.Name == p.vcenter }); i >= 0 {
				g.vcenter = &vcenters[i]
			}
		}
		g.judge()
		g.own()
	}
}

// sort sorts groups and lines; those without a name are last.
func (b *builder) sort(groups []*group) {
	slices.SortFunc(groups, func(x, y *group) int {
		return cmp.Or(x.rank()-y.rank(), cmp.Compare(x.label, y.label))
	})
	for _, g := range groups {
		b.sort(g.groups)
		slices.SortStableFunc(g.lines, func(x, y *line) int {
			if b.byState {
				if by := cmp.Or(y.disagreements()-x.disagreements(), int(y.level-x.level)); by != 0 {
					return by
				}
			}
			return cmp.Compare(x.name(), y.name())
		})
	}
}

// joined merges a group with its only child into one row, down to the datacenter: "eu ▸ eu-all ▸ eu/dceu". It returns the child.
func (g *group) joined(around *group) *group {
	for g.depth < datacenter && len(g.groups) == 1 {
		one := g.groups[0]
		one.label = g.label + " ▸ " + one.label
		g = one
	}
	if g.parent, g.indent = around, 0; around != nil {
		g.indent = around.indent + 1
	}
	for i, sub := range g.groups {
		g.groups[i] = sub.joined(g)
	}
	return g
}

func (g *group) rank() int {
	switch {
	case g.depth == apart:
		return 2
	case g.depth == region && g.region == "", g.depth == zone && g.zone == "", g.depth == host && g.onHost == "":
		return 1
	}
	return 0
}
