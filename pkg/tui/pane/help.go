package pane

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
)

// Section is bindings with a heading.
type Section struct {
	Title    string
	Bindings []key.Binding
}

// Help shows all enabled keys, in as many columns as there is room for. Make it with [NewHelp].
type Help struct {
	pane
	sections []Section
}

var (
	_ panel.Panel    = (*Help)(nil)
	_ panel.Filterer = (*Help)(nil)
	_ panel.Clicker  = (*Help)(nil)
)

// NewHelp shows bindings; it leaves out disabled ones and empty sections.
func NewHelp(sections []Section) *Help {
	return &Help{pane: newPane("Help"), sections: sections}
}

// SetSize implements [panel.Panel].
func (h *Help) SetSize(width, height int) {
	h.pane.SetSize(width, height)
	h.viewer.set(h.columns())
}

// Bindings implements [panel.Panel].
func (h *Help) Bindings() []key.Binding { return h.keys.live(&h.viewer) }

// Handle implements [panel.Panel].
func (h *Help) Handle(k tea.KeyPressMsg) (intent.Intent, bool) {
	return nil, h.keys.handle(&h.viewer, k)
}

// Click implements [panel.Clicker]: there is nothing to choose.
func (h *Help) Click(int, int) (intent.Intent, bool) { return nil, true }

// between is the space between columns.
const between = 3

// columns distributes the sections over columns of about equal length, without splitting one.
func (h *Help) columns() []line {
	var blocks [][]line
	wide, all := 0, 0
	for _, s := range h.sections {
		block := section(s)
		for _, l := range block {
			wide = max(wide, l.width)
		}
		if len(block) > 0 {
			blocks = append(blocks, block)
			all += len(block) + 1
		}
	}
	n := min(max(1, (h.width+between)/(wide+between)), max(1, len(blocks)))
	return beside(spread(blocks, n, all), wide+between)
}

// section returns the lines of a section; none if no binding is enabled.
func section(s Section) []line {
	keys := 0
	var live []key.Binding
	for _, b := range s.Bindings {
		if b.Enabled() && b.Help().Desc != "" {
			live = append(live, b)
			keys = max(keys, text.Width(b.Help().Key))
		}
	}
	if len(live) == 0 {
		return nil
	}
	lines := []line{of(s.Title, title)}
	for _, b := range live {
		l := of("  "+b.Help().Key, press)
		l.pad(2 + keys + 2)
		l.add(b.Help().Desc, plain)
		lines = append(lines, l)
	}
	return lines
}

// spread distributes blocks over columns in order, so that the longest column is as short as possible.
func spread(blocks [][]line, columns, all int) [][]line {
	for height := (all + columns - 1) / columns; ; height++ {
		out := [][]line{{}}
		for _, b := range blocks {
			last := &out[len(out)-1]
			switch {
			case len(*last) == 0:
				*last = append(*last, b...)
			case len(*last)+1+len(b) <= height:
				*last = append(append(*last, line{}), b...)
			default:
				out = append(out, append([]line{}, b...))
			}
		}
		if len(out) <= columns {
			return out
		}
	}
}

// beside joins columns side by side.
func beside(columns [][]line, wide int) []line {
	var lines []line
	for n, column := range columns {
		for i, l := range column {
			if i == len(lines) {
				lines = append(lines, line{})
			}
			to := &lines[i]
			to.pad(n * wide)
			at := 0
			for _, s := range l.spans {
				to.add(l.text[at:s.to], s.look)
				at = s.to
			}
		}
	}
	return lines
}
