package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
)

// View is the frame.
func (m *Model) View() tea.View {
	v := tea.NewView(m.Frame())
	v.AltScreen = true
	v.WindowTitle = "vsphere-sandbox " + text.Clean(m.state.About().Sandbox)
	if m.opts.Mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	if m.typing && !m.layout.small {
		v.Cursor = tea.NewCursor(m.line.Cursor(m.width), m.layout.foot.y)
	}
	return v
}

// Frame is what is on the screen now: as many lines as it is high, each as wide as it is.
func (m *Model) Frame() string {
	if m.width == 0 {
		return "" // its size is not known yet
	}
	if m.layout.small {
		return m.small()
	}
	body := m.screens[m.at].View()
	for _, o := range m.over {
		if !o.box {
			body = o.panel.View()
			continue
		}
		w, h := boxSize(o.panel, m.layout.body.width-4, m.layout.body.height-4)
		b := m.layout.box(w, h)
		body = put(body, m.frameOf(o.panel.View(), b), b.x-m.layout.body.x, b.y-m.layout.body.y)
	}
	if above := m.aboveFoot(); len(above) > 0 {
		body = put(body, above, 0, m.layout.body.height-len(above))
	}
	return m.header() + "\n" + m.tabs() + "\n" + body + "\n" + m.foot()
}

// small is for terminals that are too small.
func (m *Model) small() string {
	lines := []string{
		"too small",
		fmt.Sprintf("this is %d×%d", m.width, m.height),
		fmt.Sprintf("at least %d×%d is needed", LeastWidth, LeastHeight),
		"q quits",
	}
	if m.leaving {
		lines = text.Words(leaveQuestion, m.width)
	}
	return text.Block(lines, m.width, m.height)
}

// frameOf draws a line around a panel.
func (m *Model) frameOf(view string, b rect) []string {
	bar := strings.Repeat("─", max(0, b.width-2))
	line := func(s string) string { return m.theme.Border.Render(s) }
	lines := []string{line("┌" + bar + "┐")}
	for l := range strings.SplitSeq(view, "\n") {
		lines = append(lines, line("│")+l+line("│"))
	}
	return append(lines, line("└"+bar+"┘"))
}
