package overview

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// title says how the whole is: what matters most first, for narrow screens.
func (s *Screen) title() string {
	t, th := s.tree.sum, s.theme
	sep := th.Dim.Render(" · ")
	ready := fmt.Sprintf("nodes %s Ready", ratio(t.ready, t.nodes))
	if t.ready < t.nodes {
		ready = th.Warn.Render(ready)
	} else {
		ready = th.Text.Render(ready)
	}
	parts := []string{th.Text.Render(fmt.Sprintf("VMs %s on", ratio(t.on, t.vms))), ready}
	switch {
	case t.findings > 0:
		parts = append(parts, th.Conflict.Render(theme.GlyphConflict+" "+shorten.Count(t.findings, "disagreement")))
	case t.settling > 0:
		parts = append(parts, th.Warn.Render(theme.GlyphWarn+" planes settling"))
	default:
		parts = append(parts, th.Dim.Render("planes agree"))
	}
	if t.bad > 0 {
		parts = append(parts, th.Bad.Render(theme.GlyphBad+" "+strconv.Itoa(t.bad)+" broken"))
	}
	if t.warn > 0 {
		parts = append(parts, th.Warn.Render(theme.GlyphWarn+" "+strconv.Itoa(t.warn)+" to look at"))
	}
	if s.filter != "" {
		parts = append(parts, th.Match.Render("filter “"+text.Clean(s.filter)+"”")+th.Dim.Render(" "+shorten.Count(s.matches, "row")))
	}
	if s.byState {
		parts = append(parts, th.Dim.Render("sorted by state"))
	}
	if s.tree.tagged {
		parts = append(parts, th.Dim.Render(shorten.Count(s.tree.regions, "region")+", "+shorten.Count(s.tree.zones, "zone")))
	}
	return strings.Join(parts, sep)
}
