package overview

import (
	"slices"
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/table"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

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
		if label == "" {
			label = "no labels"
		}
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
