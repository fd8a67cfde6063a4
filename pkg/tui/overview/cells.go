package overview

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/table"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

func (s *Screen) cells(it item) []table.Cell {
	c := make([]table.Cell, colCount)
	c[colSeam] = table.Cell{Text: "│", Style: s.theme.Border}
	if it.group != nil {
		s.groupCells(c, it.group)
		return c
	}
	l := it.line
	vm, node := s.changed(world.VM, l.vmKey), s.changed(world.Node, l.nodeKey)
	name := table.Cell{Text: strings.Repeat(" ", l.in.indent+1) + text.Clean(l.name()), Style: s.theme.Text}
	if l.vm == nil || l.vm.Role == "" && l.node == nil {
		name.Style = s.theme.Dim
	}
	if s.width < cramped && l.vm != nil && l.node != nil && l.node.Name != l.vm.Name {
		name.Text += " = " + text.Clean(l.node.Name)
	}
	c[colTree] = s.mark(name, vm.is("host", "datacenter", "region", "zone", "name", "role") || vm.fresh)
	if l.vm != nil {
		s.vmCells(c, l, vm)
	}
	if l.node != nil {
		s.nodeCells(c, l, node)
	} else if l.vm == nil || l.vm.Role == "" {
		c[colReady] = table.Cell{Text: " no node", Style: s.theme.Dim}
	}
	if m := l.machine; m != nil {
		mark := glance.Machine(*m)
		ch := s.changed(world.VirtualMachine, l.machineKey)
		c[colMachine] = s.mark(table.Cell{Text: text.Clean(m.Namespace+"/"+m.Name) + " " + mark.String(), Style: mark.Style(s.theme)}, ch.fresh || ch.is("power", "wantedPower", "deleting", "vm"))
	}
	c[colFindings] = s.findings(l.findings, l.trouble)
	return c
}

func (s *Screen) vmCells(c []table.Cell, l *line, ch change) {
	v := *l.vm
	styled := func(m glance.Mark) theme.Style {
		if v.Role == "" && m.Level <= glance.Good {
			return s.theme.Dim
		}
		return m.Style(s.theme)
	}
	power := glance.Power(v)
	c[colPower] = s.mark(table.Cell{Text: power.String(), Style: styled(power)}, ch.is("power"))
	connection := glance.Connection(v.Connection)
	c[colConnection] = s.mark(table.Cell{Text: connection.String(), Style: styled(connection)}, ch.is("connection"))
	tools := glance.Tools(v)
	c[colTools] = s.mark(table.Cell{Text: tools.String(), Style: styled(tools)}, ch.is("tools"))
	guest := glance.Process(v)
	c[colGuest] = s.mark(table.Cell{Text: guest.String(), Style: styled(guest)}, ch.is("process"))
}

// findings returns the disagreements of the planes, then other problems.
func (s *Screen) findings(findings []fold.Finding, trouble []glance.Mark) table.Cell {
	var words []string
	level, conflict := glance.Plain, false
	for _, f := range findings {
		if f.Settling {
			words, level = append(words, theme.GlyphWarn+" "+f.Text), max(level, glance.Warn)
			continue
		}
		words, conflict = append(words, theme.GlyphConflict+" "+f.Text), true
	}
	for _, m := range trouble {
		words, level = append(words, m.String()), max(level, m.Level)
	}
	style := level.Style(s.theme)
	if conflict {
		style = s.theme.Conflict
	}
	return table.Cell{Text: text.Clean(strings.Join(words, "  ")), Style: style}
}

// The columns, in the order of cells. Left of the seam are vSphere's, right of it Kubernetes'.
const (
	colTree = iota
	colPower
	colConnection
	colTools
	colGuest
	colMachine
	colSeam
	colNode
	colReady
	colTaints
	colZone
	colProvider
	colAddress
	colPods
	colVolumes
	colAge
	colFindings
	colCount
)

// cramped is the width below which only the most important is shown, abbreviated.
const cramped = 120

// wordy is the minimum width for the effects of taints.
const wordy = 180

// columns returns the columns of a tree for a width. All but the last two begin with a cell for the mark of a change; names of nodes
// have one if some differ from those of their VMs, VirtualMachines if there are some.
func columns(width int, t *tree) []table.Column {
	c := make([]table.Column, colCount)
	c[colTree] = table.Column{Title: " REGION ▸ ZONE ▸ DC ▸ HOST ▸ VM", Width: 24, Flex: 2}
	c[colPower] = table.Column{Title: " POWER", Width: 12}
	c[colConnection] = table.Column{Title: " CONNECTION", Width: 13, Drop: 10}
	c[colTools] = table.Column{Title: " TOOLS", Width: 11, Drop: 9}
	c[colGuest] = table.Column{Title: " GUEST", Width: 14, Drop: 8}
	c[colMachine] = table.Column{Title: " VIRTUALMACHINE", Width: 30, Flex: 1, Drop: 4}
	c[colSeam] = table.Column{Title: "│", Width: 1}
	c[colNode] = table.Column{Title: " NODE", Width: 18, Flex: 1, Drop: 4}
	c[colReady] = table.Column{Title: " NODE READY", Width: 17}
	c[colTaints] = table.Column{Title: " TAINTS", Width: 21, Flex: 1, Drop: 1}
	c[colZone] = table.Column{Title: " ZONE", Width: 14, Drop: 7}
	c[colProvider] = table.Column{Title: " PROVIDER", Width: 10, Drop: 11}
	c[colAddress] = table.Column{Title: " ADDRESS", Width: 18, Drop: 6}
	c[colPods] = table.Column{Title: " PODS", Width: 6, Drop: 5}
	c[colVolumes] = table.Column{Title: " VOLUMES", Width: 8, Drop: 5}
	c[colAge] = table.Column{Title: "AGE", Width: 5, Right: true, Drop: 3}
	c[colFindings] = table.Column{Title: "FINDINGS", Width: 26, Flex: 4, Drop: 2}
	if width >= wordy {
		c[colTaints].Width = 31
	}
	if width < cramped {
		c[colTree].Title, c[colTree].Width = " PLACE ▸ VM", 19
		c[colPower].Width = 8
		c[colReady].Width = 12
		c[colTaints].Width = 14
		c[colFindings].Width = 14
		for _, i := range []int{colPods, colVolumes, colAddress, colZone, colConnection, colTools, colGuest, colProvider} {
			c[i] = never(width)
		}
		if width < 100 {
			c[colAge] = never(width)
		}
	}
	if width < 60 {
		c[colTree].Width, c[colReady].Drop, c[colSeam].Drop = 11, 1, 1
	}
	if !t.guests || width < cramped {
		c[colMachine] = never(width)
	}
	if t.renamed && width >= cramped {
		c[colReady].Title = " READY"
	} else {
		c[colNode] = never(width)
	}
	return c
}

// never is a column without room.
func never(width int) table.Column { return table.Column{Width: width + 1, Drop: 99} }

func (s *Screen) nodeCells(c []table.Cell, l *line, ch change) {
	n := *l.node
	ready := glance.Node(n)
	if l.gone {
		ready = glance.Mark{Glyph: theme.GlyphBad, Word: "gone", Level: glance.Warn}
	}
	c[colReady] = s.mark(table.Cell{Text: s.short(ready.String()), Style: ready.Style(s.theme)}, ch.is("registered", "ready", "initialized") || l.gone || ch.fresh && n.Registered)
	if !n.Registered {
		return
	}
	c[colNode] = s.mark(table.Cell{Text: text.Clean(n.Name), Style: s.theme.Text}, ch.fresh)
	taints, level := glance.Taints(n.Taints, s.width >= wordy)
	c[colTaints] = s.mark(table.Cell{Text: text.Clean(taints), Style: level.Style(s.theme)}, ch.is("taints", "unschedulable"))
	c[colZone] = s.mark(s.zone(l), ch.is("region", "zone"))
	_, id, _ := strings.Cut(n.ProviderID, "://")
	if len(id) > 9 {
		id = id[:8] + "…"
	}
	c[colProvider] = s.mark(table.Cell{Text: text.Clean(id), Style: s.theme.Dim}, ch.is("providerID"))
	c[colAddress] = s.mark(table.Cell{Text: text.Clean(addresses(n.Addresses)), Style: s.theme.Text}, ch.is("addresses"))
	c[colPods] = s.pods(l)
	c[colVolumes] = s.volumes(l)
	if !n.Created.IsZero() {
		c[colAge] = table.Cell{Text: text.Ago(s.state.Now().Sub(n.Created)), Style: s.theme.Dim}
	}
}

// short abbreviates words for a narrow screen.
func (s *Screen) short(words string) string {
	if s.width >= cramped {
		return words
	}
	switch words {
	case theme.GlyphOff + " not registered":
		return theme.GlyphOff + " no node"
	case theme.GlyphWarn + " uninitialized":
		return theme.GlyphWarn + " uninit."
	}
	return words
}

// zone returns the zone of a node's labels, highlighted if the tags have another one.
func (s *Screen) zone(l *line) table.Cell {
	n := l.node
	label := strings.Trim(n.Region+"/"+n.Zone, "/")
	switch {
	case l.vm != nil && (l.vm.Region != n.Region || l.vm.Zone != n.Zone) && n.Initialized:
		label = cmp.Or(label, "no labels")
		return table.Cell{Text: theme.GlyphConflict + " " + text.Clean(label), Style: s.theme.Conflict}
	case l.vm != nil && label != "":
		label = "=" // as in the group
	}
	return table.Cell{Text: text.Clean(label), Style: s.theme.Dim}
}

func (s *Screen) volumes(l *line) table.Cell {
	changed := slices.ContainsFunc(l.volumes, func(v volume) bool {
		ch := s.changed(world.Volume, v.Name)
		return ch.fresh || len(ch.fields) > 0
	})
	words := ""
	if len(l.volumes) > 0 {
		words = strconv.Itoa(len(l.volumes))
	}
	return s.mark(table.Cell{Text: words, Style: s.theme.Text}, changed)
}

// pods returns the number of pods on the node that have not ended.
func (s *Screen) pods(l *line) table.Cell {
	if l.node == nil || !l.node.Registered {
		return table.Cell{}
	}
	return s.mark(table.Cell{Text: strconv.Itoa(l.node.Pods), Style: s.theme.Text}, s.changed(world.Node, l.nodeKey).is("pods"))
}

// addresses returns the first address, and the number of others.
func addresses(all []string) string {
	switch len(all) {
	case 0:
		return ""
	case 1:
		return all[0]
	}
	return all[0] + " +" + strconv.Itoa(len(all)-1)
}

func (s *Screen) groupCells(c []table.Cell, g *group) {
	glyph, folded := theme.GlyphOpen, s.folded(g)
	switch {
	case len(g.groups)+len(g.lines) == 0:
		glyph = " "
	case folded:
		glyph = theme.GlyphClosed
	}
	style := s.theme.Group
	if g.depth == host {
		style = s.theme.Text
	}
	c[colTree] = s.mark(table.Cell{Text: strings.Repeat(" ", g.indent) + glyph + " " + text.Clean(g.label), Style: style}, s.groupChanged(g, folded))
	t := g.sum
	if t.vms > 0 {
		c[colPower] = table.Cell{Text: " " + ratio(t.on, t.vms) + " on", Style: s.theme.Dim}
	} else if g.depth == host {
		c[colPower] = table.Cell{Text: " no VM", Style: s.theme.Dim}
	}
	if t.nodes > 0 {
		ready := table.Cell{Text: " " + ratio(t.ready, t.nodes) + " Ready", Style: s.theme.Dim}
		if t.ready < t.nodes {
			ready.Style = s.theme.Warn
		}
		c[colReady] = ready
	}
	own := s.findings(nil, nonzero(g.trouble))
	counts := counts(t.less(g))
	switch {
	case own.Text == "":
		own.Text, own.Style = counts, s.theme.Dim
		if folded && t.findings > 0 {
			own.Style = s.theme.Conflict
		}
	case counts != "":
		own.Text = own.Text + "  " + counts
	}
	c[colFindings] = own
}

func nonzero(m glance.Mark) []glance.Mark {
	if m == (glance.Mark{}) {
		return nil
	}
	return []glance.Mark{m}
}

func ratio(n, of int) string { return strconv.Itoa(n) + "/" + strconv.Itoa(of) }

// counts returns the problems of a group as glyphs.
func counts(t tally) string {
	var words []string
	for _, c := range []struct {
		glyph string
		n     int
	}{{theme.GlyphConflict, t.findings}, {theme.GlyphBad, t.bad}, {theme.GlyphWarn, t.warn}} {
		if c.n > 0 {
			words = append(words, c.glyph+strconv.Itoa(c.n))
		}
	}
	return strings.Join(words, " ")
}

type volume = *api.Volume

// change is a recent change of a row.
type change struct {
	fields []string
	fresh  bool // the row is new
}

func (c change) is(fields ...string) bool {
	return slices.ContainsFunc(c.fields, func(f string) bool { return slices.Contains(fields, f) })
}

func (s *Screen) changed(k world.Kind, key string) change {
	if key == "" {
		return change{}
	}
	c, ok := s.state.Changed(k, key)
	if !ok || c.Gone {
		return change{}
	}
	return change{c.Fields, c.Fields == nil}
}

// groupChanged reports whether something in a group changed recently: folded rows, and the host or the vCenter.
func (s *Screen) groupChanged(g *group, folded bool) bool {
	if c := s.changed(world.Host, g.hostKey); c.is("connection", "power") {
		return true
	}
	if g.vcenter != nil {
		if c := s.changed(world.VCenter, g.vcenter.Name); c.is("gate", "watched") {
			return true
		}
	}
	return folded && s.anyChanged(g)
}

func (s *Screen) anyChanged(g *group) bool {
	for _, l := range g.lines {
		if vm, node := s.changed(world.VM, l.vmKey), s.changed(world.Node, l.nodeKey); vm.fresh || node.fresh || len(vm.fields)+len(node.fields) > 0 || l.gone {
			return true
		}
	}
	return slices.ContainsFunc(g.groups, s.anyChanged)
}

// mark adds the mark of a change to a cell.
func (s *Screen) mark(c table.Cell, changed bool) table.Cell { return c.Marked(changed, s.theme) }
