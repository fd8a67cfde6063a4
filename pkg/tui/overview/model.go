package overview

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
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

// place identifies a group: fields below its depth are empty.
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
	// vm and node may be nil.
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

// isNode reports whether it is a node, or should be one.
func (l *line) isNode() bool { return l.node != nil && !l.gone || l.vm != nil && l.vm.Role != "" }

func (l *line) ready() bool { return l.node != nil && !l.gone && l.node.Ready == "True" }

// stop reports whether the line is a stop for a user who looks for problems.
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

func found(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// words are all that a filter may find a line by, in lower case.
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

// folded reports whether what is in a group is not shown.
func (s *Screen) folded(g *group) bool { return s.filter == "" && s.closed[g.key] }

// toggle folds or opens the group with the cursor, or around it.
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

// unfold opens the group with the cursor; of one that is open, the cursor goes to what is first in it.
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

// leave folds the group with the cursor; from what cannot be folded the cursor goes to the group around it.
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

// every calls f for all groups and lines in the order in which they would be shown.
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

// reveal opens the groups around something, and puts the cursor on it.
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
	at := 0 // stops that are before the cursor
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

// title says how the whole is: what matters most first, for narrow screens.
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
