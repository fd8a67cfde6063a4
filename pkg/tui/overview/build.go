package overview

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"

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
