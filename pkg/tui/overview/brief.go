package overview

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// brief returns what a narrow table cuts off the row with the cursor.
func (s *Screen) brief() string {
	it, ok := s.current()
	if !ok {
		return ""
	}
	th := s.theme
	var parts []string
	say := func(style theme.Style, words string) {
		if words != "" {
			parts = append(parts, style.Render(text.Clean(words)))
		}
	}
	if g := it.group; g != nil {
		say(th.Title, g.label)
		say(g.trouble.Style(th), g.trouble.String())
		if g.host != nil {
			say(th.Dim, "cluster "+orNone(g.host.Cluster))
		}
		say(th.Dim, shorten.Count(g.sum.vms, "VM")+", "+shorten.Count(g.sum.nodes, "node"))
		return strings.Join(parts, th.Dim.Render(" · "))
	}
	l := it.line
	say(th.Title, l.name())
	if cell := s.findings(l.findings, l.trouble); cell.Text != "" {
		say(cell.Style, cell.Text)
	}
	if l.node != nil && l.node.Registered {
		taints, level := glance.Taints(l.node.Taints, true)
		say(level.Style(th), taints)
		say(th.Dim, addresses(l.node.Addresses))
		if l.vm != nil && l.node.Name != l.vm.Name {
			say(th.Dim, "node "+l.node.Name)
		}
	}
	if len(l.volumes) > 0 {
		say(th.Dim, shorten.Count(len(l.volumes), "volume"))
	}
	return strings.Join(parts, th.Dim.Render(" · "))
}
