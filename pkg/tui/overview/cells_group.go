package overview

import (
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/table"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

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
