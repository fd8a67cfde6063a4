package overview

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/world"
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
	} else if l.vm.Role == "" {
		c[colReady] = table.Cell{Text: " no node", Style: s.theme.Dim}
	}
	c[colFindings] = s.findings(l.findings, l.trouble)
	return c
}

func (s *Screen) vmCells(c []table.Cell, l *line, ch change) {
	v := *l.vm
	styled := func(m glance.Mark) lipgloss.Style {
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
	c[colVolumes] = s.volumes(l)
	if !n.Created.IsZero() {
		c[colAge] = table.Cell{Text: text.Ago(s.state.Now().Sub(n.Created)), Style: s.theme.Dim}
	}
}

// short takes the words that are too long for a narrow screen.
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

// zone is where the labels say that a node is: called out where they say another place than the tags.
func (s *Screen) zone(l *line) table.Cell {
	n := l.node
	label := strings.Trim(n.Region+"/"+n.Zone, "/")
	switch {
	case l.vm != nil && (l.vm.Region != n.Region || l.vm.Zone != n.Zone) && n.Initialized:
		if label == "" {
			label = "no labels"
		}
		return table.Cell{Text: theme.GlyphConflict + " " + text.Clean(label), Style: s.theme.Conflict}
	case l.vm != nil && label != "":
		label = "=" // as the group says
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
		switch pods := l.pods(); pods {
		case 0:
		case 1:
			words += ", 1 pod"
		default:
			words += fmt.Sprintf(", %d pods", pods)
		}
	}
	return s.mark(table.Cell{Text: words, Style: s.theme.Text}, changed)
}

// findings are what the planes disagree on, then what is wrong besides.
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

// counts says what is wrong in a group in glyphs.
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

// addresses is the first one, and how many more there are.
func addresses(all []string) string {
	switch len(all) {
	case 0:
		return ""
	case 1:
		return all[0]
	}
	return all[0] + " +" + strconv.Itoa(len(all)-1)
}
