package pane

import (
	"errors"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// pane is what all of them have: a title, and a viewer below it.
type pane struct {
	viewer
	keys          keys
	title         string
	width, height int
}

func newPane(title string) pane {
	return pane{viewer: newViewer(), keys: newKeys(), title: text.Clean(title)}
}

// SetTheme implements panel.Panel.
func (p *pane) SetTheme(t *theme.Theme) { p.theme = t }

// SetState implements panel.Panel: what is shown is given, and stays as it is.
func (p *pane) SetState(*fold.State) {}

// SetSize implements panel.Panel.
func (p *pane) SetSize(width, height int) {
	p.width, p.height = width, height
	p.viewer.size(width, height-1)
}

// SetFilter implements panel.Filterer: what is found is marked, and gone to.
func (p *pane) SetFilter(filter string) { p.viewer.find(filter) }

// Wheel implements panel.Clicker.
func (p *pane) Wheel(lines int) { p.viewer.move(lines) }

// head is the first line: the title, and which part is seen.
func (p *pane) head(where string) string {
	where = text.Cut(where, p.width*2/3)
	left := text.Cut(p.title, max(0, p.width-text.Width(where)-1))
	room := max(0, p.width-text.Width(left)-text.Width(where))
	return p.theme.Title.Render(left) + strings.Repeat(" ", room) + p.theme.Dim.Render(where)
}

// View implements panel.Panel.
func (p *pane) View() string {
	return p.frame(p.viewer.where(), p.viewer.view())
}

func (p *pane) frame(where string, body []string) string {
	if p.width <= 0 || p.height <= 0 {
		return ""
	}
	return text.Block(append([]string{p.head(where)}, body...), p.width, p.height)
}

// loading is what is seen before there is anything.
func loading() []line { return []line{of("loading…", dim)} }

// failure is an error, and what to try.
func failure(err error, width int) []line {
	l := of(theme.GlyphBad+" ", bad)
	l.add(err.Error(), bad)
	all := l.wrapped(width, 2)
	var refused *api.Error
	if errors.As(err, &refused) && refused.Try != "" {
		all = append(all, line{})
		all = append(all, try(refused.Try, 0, width)...)
	}
	return all
}

// try is what to try.
func try(what string, indent, width int) []line {
	var all []line
	for i, s := range strings.Split(what, "\n") {
		var l line
		l.pad(indent)
		if i == 0 {
			l.add("try: ", press)
		}
		l.pad(indent + 5)
		l.add(s, plain)
		all = append(all, l.wrapped(width, indent+5)...)
	}
	return all
}

// called is a subject in words: "node worker-1", "vm us/worker-1".
func called(s api.Subject) string {
	name := s.Name
	if s.VCenter != "" {
		name = s.VCenter + "/" + name
	}
	return s.Kind + " " + name
}
