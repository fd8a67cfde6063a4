package overview

import (
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/table"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

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

// mark adds the mark of a change to a cell, or the space for it.
func (s *Screen) mark(c table.Cell, changed bool) table.Cell {
	if !changed {
		c.Text = " " + c.Text
		return c
	}
	c.Text = theme.GlyphChanged + c.Text
	c.Style = c.Style.Inherit(s.theme.Changed)
	return c
}
