package overview

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
)

// depth is how far down the tree a group is.
type depth int

const (
	region depth = iota
	zone
	datacenter
	host
	apart // no place in vSphere: nodes without a VM
)

// place tells one group from all others: what is below its depth is empty.
type place struct {
	depth                                     depth
	region, zone, vcenter, datacenter, onHost string
}

// group is a heading of the tree, with what is in it.
type group struct {
	place
	key    string
	label  string
	indent int
	parent *group
	groups []*group
	lines  []*line
	sum    tally
	// host and vcenter are what it is the heading of, if it is one of these.
	host    *api.Host
	vcenter *api.VCenter
	hostKey string
	// trouble is what is wrong with the host or vCenter itself.
	trouble glance.Mark
}

// line is a VM with its node, or one of them alone.
type line struct {
	key string
	in  *group
	// vm and node are nil where there is none.
	vm      *api.VM
	vmKey   string
	node    *api.Node
	nodeKey string
	// gone: the node was deleted a moment ago, and node is what it was at last.
	gone bool
	// second: another line has the VM, and another node.
	second   bool
	volumes  []*api.Volume
	findings []fold.Finding
	// trouble is what is wrong and said nowhere else, level how bad the whole is.
	trouble []glance.Mark
	level   glance.Level
}

// name is that of the VM, else of the node.
func (l *line) name() string {
	if l.vm != nil {
		return l.vm.Name
	}
	return l.node.Name
}

// isNode tells whether it is a node, or should be one.
func (l *line) isNode() bool { return l.node != nil && !l.gone || l.vm != nil && l.vm.Role != "" }

func (l *line) ready() bool { return l.node != nil && !l.gone && l.node.Ready == "True" }

// stop tells whether somebody who looks for what is wrong wants to stop here.
func (l *line) stop() bool { return len(l.findings) > 0 || l.level >= glance.Warn }

func (g *group) stop() bool { return g.trouble.Level >= glance.Warn }

// disagreements counts the findings that are not for the moment only.
func (l *line) disagreements() (n int) {
	for _, f := range l.findings {
		if !f.Settling {
			n++
		}
	}
	return n
}

// tally counts what is in a group.
type tally struct{ vms, on, nodes, ready, findings, settling, bad, warn int }

// add counts a line in its group and all around it.
func (g *group) add(l *line) {
	for ; g != nil; g = g.parent {
		t := &g.sum
		if l.vm != nil && !l.second {
			t.vms++
			if l.vm.Power == "on" {
				t.on++
			}
		}
		if l.isNode() {
			t.nodes++
			if l.ready() {
				t.ready++
			}
		}
		t.findings += l.disagreements()
		t.settling += len(l.findings) - l.disagreements()
		t.count(l.level)
	}
}

// own counts what is wrong with a group itself.
func (g *group) own() {
	for up := g; up != nil; up = up.parent {
		up.sum.count(g.trouble.Level)
	}
}

func (t *tally) count(l glance.Level) {
	switch l {
	case glance.Bad:
		t.bad++
	case glance.Warn:
		t.warn++
	}
}

// less is what is wrong in a group, without what is wrong with it itself.
func (t tally) less(g *group) tally {
	switch g.trouble.Level {
	case glance.Bad:
		t.bad--
	case glance.Warn:
		t.warn--
	}
	return t
}

func (t *tally) plus(u tally) {
	t.vms, t.on, t.nodes, t.ready = t.vms+u.vms, t.on+u.on, t.nodes+u.nodes, t.ready+u.ready
	t.findings, t.settling, t.bad, t.warn = t.findings+u.findings, t.settling+u.settling, t.bad+u.bad, t.warn+u.warn
}

// id is the key of a place among the rows of the table. Names have no such character in them.
func (p place) id() string {
	return strings.Join([]string{"group", string(rune('0' + p.depth)), p.region, p.zone, p.vcenter, p.datacenter, p.onHost}, "\x00")
}
