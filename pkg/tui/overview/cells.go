package overview

import (
	"strings"

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
	} else if l.vm.Role == "" {
		c[colReady] = table.Cell{Text: " no node", Style: s.theme.Dim}
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
