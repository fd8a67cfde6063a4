package overview

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// strip returns the number of lines for the details below the table: one if the screen is low, none if it is very low.
func (s *Screen) strip() int {
	switch {
	case s.height < 8:
		return 0
	case s.width < 140 || s.height < 30:
		return 1
	}
	return min(max(12, s.height/3), 18)
}

// details describes the row with the cursor: vSphere on the left, Kubernetes on the right.
func (s *Screen) details(height int) []string {
	if height == 1 {
		return []string{s.brief()}
	}
	it, ok := s.current()
	title := ""
	var left, right []fact
	var said []string
	switch {
	case !ok:
	case it.group != nil:
		title, left, right = text.Clean(it.group.label), s.groupFacts(it.group), s.sumFacts(it.group.sum)
	default:
		title = text.Clean(it.line.name())
		if it.line.vm != nil {
			left = s.vmFacts(*it.line.vm)
		} else {
			left = []fact{{"VM", "none has the UUID of its providerID", s.theme.Warn}}
		}
		right, said = s.nodeFacts(it.line), s.said(it.line.findings)
	}
	rule := s.theme.Border.Render("── ") + s.theme.Title.Render(title) + " "
	lines := []string{rule + s.theme.Border.Render(strings.Repeat("─", max(0, s.width-text.Width(rule))))}
	lines = append(lines, said...)
	half := (s.width - 3) / 2
	seam := " " + s.theme.Border.Render("│") + " "
	for i := 0; len(lines) < height; i++ {
		lines = append(lines, text.Fit(s.fact(left, i), half)+seam+s.fact(right, i))
	}
	return lines
}

func (s *Screen) fact(facts []fact, i int) string {
	if i >= len(facts) {
		return ""
	}
	f := facts[i]
	if f.value == "" {
		f.value, f.style = "none", s.theme.Dim
	}
	return s.theme.Dim.Render(text.Fit(f.name, 12)) + " " + f.style.Render(text.Clean(f.value))
}

func (s *Screen) said(all []fold.Finding) (lines []string) {
	for _, f := range all {
		if f.Settling {
			lines = append(lines, s.theme.Warn.Render(theme.GlyphWarn+" "+text.Clean(f.Text)+", for the moment"))
		} else {
			lines = append(lines, s.theme.Conflict.Render(theme.GlyphConflict+" "+text.Clean(f.Text)))
		}
	}
	return lines
}
