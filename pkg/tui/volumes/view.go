package volumes

import (
	"fmt"
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

// below returns the number of lines for the chain below the table: what the volumes leave, up to a maximum; none if there is no
// room.
func (s *Screen) below() int {
	rest := s.height - 1
	if rest < 16 {
		return 0
	}
	return min(max(11, rest/2, rest-1-len(s.shown)), 18)
}

// SetSize sets its size.
func (s *Screen) SetSize(width, height int) {
	s.width, s.height = width, height
	s.table.SetColumns(columns(width))
	s.table.SetSize(width, max(0, height-1-s.below()))
}

// View returns the screen.
func (s *Screen) View() string {
	if s.width <= 0 || s.height <= 0 {
		return ""
	}
	view := text.Fit(s.title(), s.width)
	if s.height > 1 {
		view += "\n" + s.table.View()
	}
	if n := s.below(); n > 0 {
		view += "\n" + text.Block(s.chainLines(n), s.width, n)
	}
	return view
}

// title counts the volumes, the problems first.
func (s *Screen) title() string {
	th := s.theme
	counts := map[api.VolumeState]int{}
	for _, v := range s.all {
		counts[v.State]++
	}
	word := " volumes"
	if len(s.all) == 1 {
		word = " volume"
	}
	parts := []string{th.Text.Render(fmt.Sprint(len(s.all)) + word)}
	for _, state := range []api.VolumeState{
		api.VolumeLost, api.VolumeBlocked, api.VolumeOrphaned, api.VolumePending, api.VolumeAttaching, api.VolumeDetaching,
		api.VolumeInUse, api.VolumeAttached, api.VolumeDetached, api.VolumeReleased,
	} {
		if n := counts[state]; n > 0 {
			m := glance.Volume(state)
			parts = append(parts, m.Style(th).Render(fmt.Sprintf("%s %d %s", m.Glyph, n, m.Word)))
		}
	}
	if s.filter != "" {
		parts = append(parts, th.Match.Render("filter “"+text.Clean(s.filter)+"”")+th.Dim.Render(fmt.Sprintf(" %d of %d", len(s.shown), len(s.all))))
	}
	if s.byState {
		parts = append(parts, th.Dim.Render("sorted by state"))
	}
	return strings.Join(parts, th.Dim.Render(" · "))
}

// chainLines draws the path of the volume with the cursor.
func (s *Screen) chainLines(height int) []string {
	th := s.theme
	v, ok := s.current()
	if !ok {
		return nil
	}
	state := stateOf(v)
	rule := th.Border.Render("── ") + th.Title.Render(text.Clean(title(v))) + " " + state.Style(th).Render(state.String()) + " "
	if v.CapacityBytes > 0 {
		rule += th.Dim.Render(text.Bytes(v.CapacityBytes)) + " "
	}
	lines := []string{rule + th.Border.Render(strings.Repeat("─", max(0, s.width-text.Width(rule))))}
	hops := s.chain(v)
	findings := s.findings(v)
	waits := s.waits(v, height-len(lines)-len(hops)-len(findings))
	for i, h := range hops {
		lines = append(lines, s.hopLine(h, i == 0, urgency(v)))
		if h.stuck {
			lines, waits = append(lines, waits...), nil
		}
	}
	lines = append(lines, waits...)
	for _, f := range findings {
		lines = append(lines, th.Conflict.Render(theme.GlyphConflict+" "+text.Clean(f.Text)))
	}
	return lines[:min(len(lines), height)]
}

// hopLine draws one hop: its kind in the color of its plane, its name, its state.
func (s *Screen) hopLine(h hop, first bool, level glance.Level) string {
	th := s.theme
	lead := th.Dim.Render("↓ ")
	switch {
	case h.stuck:
		glyph := theme.GlyphWarn
		if level == glance.Bad {
			glyph = theme.GlyphBad
		}
		lead = level.Style(th).Render("↓" + glyph)
	case first:
		lead = "  "
	}
	plane := th.Kube
	if h.plane == vsphere {
		plane = th.VSphere
	}
	names := min(max(s.width*2/5, 10), 60)
	state := h.state.Style(th)
	glyph := " "
	if h.changed {
		state, glyph = state.Inherit(th.Changed), theme.GlyphChanged
	}
	line := lead + plane.Render(text.Fit(h.kind, 10)) + " " + th.Text.Render(text.Fit(text.Clean(h.name), names)) + glyph + state.Render(text.Clean(h.state.String()))
	if h.more != "" {
		line += th.Dim.Render(", " + text.Clean(h.more))
	}
	return line
}

// waits describes what a volume waits for, and what ends the wait, in at most so many lines.
func (s *Screen) waits(v api.Volume, most int) []string {
	const indent = "    "
	width := max(1, s.width-len(indent))
	wrap := func(lead, words string) []string {
		if words == "" {
			return nil
		}
		return text.Wrap(lead+text.Clean(words), width)
	}
	why, try := wrap("waits for: ", v.Waits), wrap("try: ", v.Try)
	if most = max(0, most); len(why)+len(try) > most {
		try = cut(try, max(most/2, most-len(why)), width)
		why = cut(why, most-len(try), width)
	}
	var lines []string
	for _, l := range why {
		lines = append(lines, indent+urgency(v).Style(s.theme).Render(l))
	}
	for _, l := range try {
		lines = append(lines, indent+s.theme.Key.Render(l))
	}
	return lines
}

// cut returns the first lines, and an ellipsis for the others.
func cut(lines []string, most, width int) []string {
	if len(lines) <= most {
		return lines
	}
	if lines = lines[:most]; most > 0 {
		lines[most-1] = text.Cut(lines[most-1]+"……", min(width, text.Width(lines[most-1])+1))
	}
	return lines
}

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
	mark := func(c table.Cell, changed bool) table.Cell { return c.Marked(changed, th) }
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
