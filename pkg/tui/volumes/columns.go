package volumes

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/table"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// The columns, in the order of cells.
const (
	colClaim = iota
	colSize
	colState
	colWhere
	colVM
	colNode
	colPod
	colWaits
	colCount
)

// columns returns the columns for a width. All but the sizes begin with a cell for the mark of a change.
func columns(width int) []table.Column {
	c := make([]table.Column, colCount)
	c[colClaim] = table.Column{Title: " CLAIM", Width: 20, Flex: 2}
	c[colSize] = table.Column{Title: "SIZE", Width: 6, Right: true, Drop: 4}
	c[colState] = table.Column{Title: " STATE", Width: 12}
	c[colWhere] = table.Column{Title: " DATASTORE", Width: 16, Drop: 5}
	c[colVM] = table.Column{Title: " VM", Width: 16, Flex: 1, Drop: 6}
	c[colNode] = table.Column{Title: " NODE", Width: 16, Flex: 1, Drop: 1}
	c[colPod] = table.Column{Title: " POD", Width: 16, Flex: 1, Drop: 3}
	c[colWaits] = table.Column{Title: " WAITS FOR", Width: 20, Flex: 4, Drop: 2}
	if width < 60 {
		c[colClaim].Width = 12
	}
	return c
}

func (s *Screen) cells(v api.Volume) []table.Cell {
	th := s.theme
	change, ok := s.state.Changed(world.Volume, v.Name)
	changed := func(fields ...string) bool { return ok && !change.Gone && has(change, fields) }
	mark := func(c table.Cell, changed bool) table.Cell {
		if !changed {
			c.Text = " " + c.Text
			return c
		}
		c.Text = theme.GlyphChanged + c.Text
		c.Style = c.Style.Inherit(th.Changed)
		return c
	}
	plain := func(words string) table.Cell { return table.Cell{Text: text.Clean(words), Style: th.Text} }
	c := make([]table.Cell, colCount)
	c[colClaim] = mark(plain(title(v)), ok && !change.Gone && change.Fields == nil || changed("claim"))
	if v.CapacityBytes > 0 {
		c[colSize] = table.Cell{Text: text.Bytes(v.CapacityBytes), Style: th.Dim}
	}
	state := stateOf(v)
	c[colState] = mark(table.Cell{Text: state.String(), Style: state.Style(th)}, changed("state"))
	c[colWhere] = mark(plain(v.Datastore), changed("datastore"))
	c[colVM] = mark(plain(v.VM), changed("vm"))
	node := plain(v.Node)
	if v.Node != "" && !v.Attached {
		node = table.Cell{Text: theme.GlyphOff + " " + node.Text, Style: th.Dim} // wanted on that node
	}
	c[colNode] = mark(node, changed("node", "attached"))
	c[colPod] = mark(plain(strings.Join(v.Pods, " ")), changed("pods"))
	words := v.Waits
	style := th.Dim
	if findings := s.findings(v); len(findings) > 0 {
		words, style = theme.GlyphConflict+" "+findings[0].Text, th.Conflict
	} else if words != "" {
		style = urgency(v).Style(th)
	}
	c[colWaits] = mark(table.Cell{Text: text.Clean(words), Style: style}, changed("waits"))
	return c
}

// stateOf returns the state of a volume; one that waits needs attention in any state.
func stateOf(v api.Volume) glance.Mark {
	m := glance.Volume(v.State)
	if m.Level == glance.Good && v.Waits != "" {
		m.Glyph, m.Level = theme.GlyphWarn, glance.Warn
	}
	return m
}

// has reports whether one of the fields is among the changed ones.
func has(c fold.Change, fields []string) bool {
	return slices.ContainsFunc(c.Fields, func(f string) bool { return slices.Contains(fields, f) })
}

// findings returns the disagreements of the planes about a volume.
func (s *Screen) findings(v api.Volume) []fold.Finding {
	return s.state.FindingsOf(api.Subject{Kind: "volume", Name: v.Name})
}
