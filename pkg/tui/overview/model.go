package overview

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// depth is the level of a group in the tree.
type depth int

const (
	region depth = iota
	zone
	datacenter
	host
	apart // no place in vSphere: nodes without a VM
)

// place identifies a group: fields below its depth are empty.
type place struct {
	depth                                     depth
	region, zone, vcenter, datacenter, onHost string
}

// group is a heading of the tree, with its content.
type group struct {
	place
	key    string
	label  string
	indent int
	parent *group
	groups []*group
	lines  []*line
	sum    tally
	// host and vcenter are set if it is the heading of one.
	host    *api.Host
	vcenter *api.VCenter
	hostKey string
	// trouble is the problem of the host or vCenter itself.
	trouble glance.Mark
}

// line is a VM with its node and its VirtualMachine, or one of them alone.
type line struct {
	key string
	in  *group
	// vm and node may be nil.
	vm      *api.VM
	vmKey   string
	node    *api.Node
	nodeKey string
	// machine is the VirtualMachine of the Supervisor that is the VM, or has none yet.
	machine    *api.VirtualMachine
	machineKey string
	// gone means that the node was deleted recently; node has its last state.
	gone bool
	// second means that another line has the VM, with another node.
	second   bool
	volumes  []*api.Volume
	findings []fold.Finding
	// trouble are the problems without a column, level is the highest severity.
	trouble []glance.Mark
	level   glance.Level
}

// name returns the name of the VM, or else of the node, or else of the VirtualMachine.
func (l *line) name() string {
	switch {
	case l.vm != nil:
		return l.vm.Name
	case l.node != nil:
		return l.node.Name
	}
	return l.machine.Name
}

// isNode reports whether it is a node, or should be one.
func (l *line) isNode() bool { return l.node != nil && !l.gone || l.vm != nil && l.vm.Role != "" }

func (l *line) ready() bool { return l.node != nil && !l.gone && l.node.Ready == "True" }

// stop reports whether the line is a stop for a user who looks for problems.
func (l *line) stop() bool { return len(l.findings) > 0 || l.level >= glance.Warn }

func (g *group) stop() bool { return g.trouble.Level >= glance.Warn }

// disagreements counts the findings that are not settling.
func (l *line) disagreements() (n int) {
	for _, f := range l.findings {
		if !f.Settling {
			n++
		}
	}
	return n
}

// tally counts the content of a group.
type tally struct{ vms, on, nodes, ready, findings, settling, bad, warn int }

// add counts a line in its group and its parents.
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

// own counts the problems of a group itself.
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

// less returns the problems in a group, without its own.
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

// id returns the key of a place in the table. Names do not have the separator.
func (p place) id() string {
	return strings.Join([]string{"group", string(rune('0' + p.depth)), p.region, p.zone, p.vcenter, p.datacenter, p.onHost}, "\x00")
}

func found(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

// words returns the texts for the filter, in lower case.
func (l *line) words() string {
	var b strings.Builder
	say := func(words ...string) {
		for _, w := range words {
			if w != "" {
				b.WriteString(strings.ToLower(w))
				b.WriteByte(' ')
			}
		}
	}
	if v := l.vm; v != nil {
		say(v.Name, v.Hostname, glance.Power(*v).Word, v.Connection, v.Process, v.Role, v.UUID, v.MoRef)
		say(v.Addresses...)
		say(glance.Tools(*v).Word)
	}
	if m := l.machine; m != nil {
		say(m.Name, m.Namespace+"/"+m.Name, m.Guest, m.PowerChange(), m.Class, m.BIOSUUID)
	}
	if n := l.node; n != nil {
		say(n.Name, glance.Node(*n).Word, n.Region, n.Zone, n.ProviderID)
		say(n.Taints...)
		say(n.Roles...)
		say(n.Addresses...)
		if n.Unschedulable {
			say("cordoned")
		}
	}
	if l.gone {
		say("gone deleted")
	}
	for _, v := range l.volumes {
		say(v.Claim)
	}
	for _, f := range l.findings {
		say(f.Text)
	}
	for _, m := range l.trouble {
		say(m.Word)
	}
	return b.String()
}

// folded reports whether the content of a group is hidden.
func (s *Screen) folded(g *group) bool { return s.filter == "" && s.closed[g.key] }

// toggle folds or opens the group of the cursor.
func (s *Screen) toggle() {
	it, ok := s.current()
	if !ok {
		return
	}
	g := it.group
	if g == nil {
		g = it.line.in
	}
	s.closed[g.key] = !s.closed[g.key]
	s.list()
}

// unfold opens the group with the cursor, or moves the cursor to the first row of an open one.
func (s *Screen) unfold() {
	it, ok := s.current()
	switch {
	case !ok || it.group == nil:
	case s.closed[it.group.key]:
		delete(s.closed, it.group.key)
		s.list()
	case len(it.group.groups)+len(it.group.lines) > 0:
		s.table.Move(1)
	}
}

// leave folds the group with the cursor, or moves the cursor to the parent.
func (s *Screen) leave() {
	it, ok := s.current()
	if !ok {
		return
	}
	if g := it.group; g != nil && !s.closed[g.key] && len(g.groups)+len(g.lines) > 0 {
		s.closed[g.key] = true
		s.list()
		return
	}
	if up := it.above(); up != nil {
		s.table.Choose(up.key)
	}
}

// foldAll folds or opens all groups.
func (s *Screen) foldAll(fold bool) {
	clear(s.closed)
	if fold {
		s.every(func(it item) {
			if it.group != nil {
				s.closed[it.group.key] = true
			}
		})
	}
	s.list()
}

// every calls f for all groups and lines in display order.
func (s *Screen) every(f func(item)) {
	var walk func(g *group)
	walk = func(g *group) {
		f(item{group: g})
		for _, sub := range g.groups {
			walk(sub)
		}
		for _, l := range g.lines {
			f(item{line: l})
		}
	}
	for _, g := range s.tree.roots {
		walk(g)
	}
}

// reveal opens the groups around a row, and moves the cursor to it.
func (s *Screen) reveal(it item) bool {
	closed := false
	for g := it.above(); g != nil; g = g.parent {
		closed = closed || s.closed[g.key]
		delete(s.closed, g.key)
	}
	if closed {
		s.list()
	}
	return s.table.Choose(it.key())
}

// seek moves the cursor to the next line with a disagreement or a problem, folded or not, and after the last to the first.
func (s *Screen) seek(step int) {
	var stops []item
	here, _ := s.current()
	at := 0 // stops before the cursor
	on, passed := false, false
	visit := func(it item) {
		if it == here {
			passed, on = true, it.stop()
		}
		if !it.stop() {
			return
		}
		if !passed {
			at++
		}
		stops = append(stops, it)
	}
	if s.filter == "" {
		s.every(visit)
	} else {
		for _, it := range s.shown {
			visit(it)
		}
	}
	if len(stops) == 0 {
		return
	}
	if step < 0 {
		at--
	} else if on {
		at++
	}
	s.reveal(stops[(at+len(stops))%len(stops)])
}

// title summarizes the whole, the most important first, for narrow screens.
func (s *Screen) title() string {
	t, th := s.tree.sum, s.theme
	sep := th.Dim.Render(" · ")
	ready := fmt.Sprintf("nodes %s Ready", ratio(t.ready, t.nodes))
	if t.ready < t.nodes {
		ready = th.Warn.Render(ready)
	} else {
		ready = th.Text.Render(ready)
	}
	parts := []string{th.Text.Render(fmt.Sprintf("VMs %s on", ratio(t.on, t.vms))), ready}
	switch {
	case t.findings > 0:
		parts = append(parts, th.Conflict.Render(theme.GlyphConflict+" "+shorten.Count(t.findings, "disagreement")))
	case t.settling > 0:
		parts = append(parts, th.Warn.Render(theme.GlyphWarn+" planes settling"))
	default:
		parts = append(parts, th.Dim.Render("planes agree"))
	}
	if t.bad > 0 {
		parts = append(parts, th.Bad.Render(theme.GlyphBad+" "+strconv.Itoa(t.bad)+" broken"))
	}
	if t.warn > 0 {
		parts = append(parts, th.Warn.Render(theme.GlyphWarn+" "+strconv.Itoa(t.warn)+" to look at"))
	}
	if s.filter != "" {
		parts = append(parts, th.Match.Render("filter “"+text.Clean(s.filter)+"”")+th.Dim.Render(" "+shorten.Count(s.matches, "row")))
	}
	if s.byState {
		parts = append(parts, th.Dim.Render("sorted by state"))
	}
	if s.tree.tagged {
		parts = append(parts, th.Dim.Render(shorten.Count(s.tree.regions, "region")+", "+shorten.Count(s.tree.zones, "zone")))
	}
	return strings.Join(parts, sep)
}
