package overview

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

// tree is the content of the screen, before folding and filtering.
type tree struct {
	roots []*group
	sum   tally
	// tagged means that something has a region or a zone; otherwise these levels are left out.
	tagged bool
	// regions and zones count those with a name.
	regions, zones int
	// renamed means that a node has another name than its VM.
	renamed bool
	// guests means that VMs are VirtualMachines of a Supervisor.
	guests bool
}

// builder builds the tree of a state.
type builder struct {
	tree
	s       *fold.State
	groups  map[place]*group
	order   []*line
	byState bool
}

func build(s *fold.State, byState bool) *tree {
	b := &builder{s: s, groups: map[place]*group{}, byState: byState}
	b.vms()
	b.nodes()
	b.machines()
	b.volumes()
	b.hosts()
	for _, l := range b.order {
		l.findings = b.about(l)
		l.judge()
		b.renamed = b.renamed || l.vm != nil && l.node != nil && l.node.Registered && l.node.Name != l.vm.Name
		if l.in == nil {
			l.in = b.group(place{depth: apart})
		}
		l.in.lines = append(l.in.lines, l)
		l.in.add(l)
	}
	b.headings()
	b.sort(b.roots)
	for i, g := range b.roots {
		b.sum.plus(g.sum)
		b.roots[i] = g.joined(nil)
	}
	for p := range b.groups {
		switch {
		case p.depth == region && p.region != "":
			b.regions++
		case p.depth == zone && p.zone != "":
			b.zones++
		}
	}
	return &b.tree
}

// vmPlace is the place of the VM in the row of a node.
type vmPlace struct{ vcenter, datacenter, name string }

// vms adds a line for each VM, to the group of its host.
func (b *builder) vms() {
	rows := b.s.World().Rows(world.VM)
	vms := world.Values[api.VM](b.s.World(), world.VM)
	for i := range vms {
		b.tagged = b.tagged || vms[i].Region != "" || vms[i].Zone != ""
	}
	b.order = make([]*line, 0, len(vms))
	for i := range vms {
		v := &vms[i]
		l := &line{key: "vm\x00" + rows[i].Key, vm: v, vmKey: rows[i].Key}
		l.in = b.group(place{host, v.Region, v.Zone, v.VCenter, v.Datacenter, v.Host})
		b.order = append(b.order, l)
	}
}

// nodes joins nodes with the lines of their VMs, and adds lines for those without a VM, including recently deleted nodes.
func (b *builder) nodes() {
	byPlace, byUUID := make(map[vmPlace]*line, len(b.order)), make(map[string]*line, len(b.order))
	for _, l := range b.order {
		byPlace[vmPlace{l.vm.VCenter, l.vm.Datacenter, l.vm.Name}] = l
		byUUID[strings.ToLower(l.vm.UUID)] = l
	}
	join := func(n *api.Node, key string, gone bool) {
		at := vmPlace{n.VCenter, n.Datacenter, n.VM}
		_, id, _ := strings.Cut(n.ProviderID, "://")
		l := byUUID[strings.ToLower(id)]
		if l == nil || l.vm.Name != n.VM || l.vm.VCenter != n.VCenter { // names may repeat in folders, and UUIDs by mistake
			l = byPlace[at]
		}
		if l != nil && l.node == nil {
			l.node, l.nodeKey, l.gone = n, key, gone
			return
		}
		own := &line{key: "node\x00" + key, node: n, nodeKey: key, gone: gone}
		if l != nil { // a second node of one VM
			if gone {
				return
			}
			own.vm, own.vmKey, own.in, own.second = l.vm, l.vmKey, l.in, true
		}
		b.order = append(b.order, own)
	}
	rows := b.s.World().Rows(world.Node)
	nodes := world.Values[api.Node](b.s.World(), world.Node)
	for i := range nodes {
		join(&nodes[i], rows[i].Key, false)
	}
	for _, row := range b.s.Gone(world.Node) {
		if n, ok := row.Value.(api.Node); ok && n.Registered {
			join(&n, row.Key, true)
		}
	}
}

// machines adds the VirtualMachines of the Supervisor to the lines of their VMs, and lines for those without a VM.
func (b *builder) machines() {
	rows := b.s.World().Rows(world.VirtualMachine)
	if b.guests = len(rows) > 0; !b.guests {
		return
	}
	byVM := make(map[string]*line, len(b.order))
	for _, l := range b.order {
		if l.vm != nil && !l.second {
			byVM[l.vmKey] = l
		}
	}
	machines := world.Values[api.VirtualMachine](b.s.World(), world.VirtualMachine)
	for i := range machines {
		m := &machines[i]
		l := byVM[m.VCenter+"/"+m.MoRef]
		if l == nil || l.machine != nil {
			l = &line{key: "machine\x00" + rows[i].Key}
			b.order = append(b.order, l)
		}
		l.machine, l.machineKey = m, rows[i].Key
	}
}

// volumes adds the volumes of nodes to their lines.
func (b *builder) volumes() {
	volumes := world.Values[api.Volume](b.s.World(), world.Volume)
	if len(volumes) == 0 {
		return
	}
	byNode := make(map[string]*line, len(b.order))
	for _, l := range b.order {
		if l.node != nil {
			byNode[l.node.Name] = l
		}
	}
	for i := range volumes {
		if v := &volumes[i]; v.Attached {
			if l := byNode[v.Node]; l != nil {
				l.volumes = append(l.volumes, v)
			}
		}
	}
}

// about returns the findings of a line's VM, node and volumes.
func (b *builder) about(l *line) (all []fold.Finding) {
	if l.vm != nil {
		all = append(all, b.s.FindingsOf(api.Subject{Kind: "vm", VCenter: l.vm.VCenter, Name: l.vm.Name})...)
	}
	if l.node != nil {
		all = append(all, b.s.FindingsOf(api.Subject{Kind: "node", Name: l.node.Name})...)
	}
	for _, v := range l.volumes {
		all = append(all, b.s.FindingsOf(api.Subject{Kind: "volume", Name: v.Name})...)
	}
	return all
}

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
