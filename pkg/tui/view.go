package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// View returns the frame.
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

// Frame returns the current screen: height lines of width cells.
func (m *Model) Frame() string {
	if m.width == 0 {
		return "" // the size is not known yet
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

// small returns the frame for terminals that are too small.
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

// frameOf draws a border around a panel.
func (m *Model) frameOf(view string, b rect) []string {
	bar := strings.Repeat("─", max(0, b.width-2))
	line := func(s string) string { return m.theme.Border.Render(s) }
	lines := []string{line("┌" + bar + "┐")}
	for l := range strings.SplitSeq(view, "\n") {
		lines = append(lines, line("│")+l+line("│"))
	}
	return append(lines, line("└"+bar+"┘"))
}

// themeOf returns the theme with a name; "" is the one for a dark or a light terminal.
func themeOf(name string, dark bool) *theme.Theme {
	switch {
	case name == "mono":
		return theme.Mono()
	case name == "light", name == "" && !dark:
		return theme.Light()
	}
	return theme.Dark()
}

// The minimum size of the terminal.
const (
	LeastWidth  = 80
	LeastHeight = 24
)

// rect is an area of the screen, in cells.
type rect struct{ x, y, width, height int }

// layout has the area of each part.
type layout struct {
	small                    bool // nothing fits
	header, tabs, body, foot rect
}

// arrange lays out a terminal.
func arrange(width, height int) layout {
	if width < LeastWidth || height < LeastHeight {
		return layout{small: true}
	}
	return layout{
		header: rect{0, 0, width, 1},
		tabs:   rect{0, 1, width, 1},
		body:   rect{0, 2, width, height - 3},
		foot:   rect{0, height - 1, width, 1},
	}
}

// box returns the area of an overlay in the body, with its border.
func (l layout) box(width, height int) rect {
	w, h := min(width+2, l.body.width), min(height+2, l.body.height)
	return rect{l.body.x + (l.body.width-w)/2, l.body.y + (l.body.height-h)/2, w, h}
}

// put draws lines over a text, from column x and line y on.
func put(under string, lines []string, x, y int) string {
	rows := strings.Split(under, "\n")
	for i, l := range lines {
		if y+i < 0 || y+i >= len(rows) {
			continue
		}
		row := rows[y+i]
		rows[y+i] = ansi.Cut(row, 0, x) + l + ansi.Cut(row, x+ansi.StringWidth(l), ansi.StringWidth(row))
	}
	return strings.Join(rows, "\n")
}

// Still returns one frame of a recording as text: at an offset, after some keys, named as in the help and with spaces between ("2
// j enter"). It is the same every time: in the mono theme, without escapes.
func Still(o Options, width, height int, at time.Duration, keys string) (string, error) {
	if o.Player == nil {
		return "", errors.New("a still frame needs a recording")
	}
	o.Theme = "mono"
	m := NewModel(context.Background(), o)
	m.resize(width, height)
	m.play.paused = true
	m.play.seek(at)
	m.state = m.play.state
	m.report()
	m.bind()
	for name := range strings.FieldsSeq(keys) {
		k, err := keyOf(name)
		if err != nil {
			return "", err
		}
		m.press(k)
	}
	rows := strings.Split(ansi.Strip(m.Frame()), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return strings.Join(rows, "\n"), nil
}

// keyOf returns the key with a name.
func keyOf(name string) (tea.KeyPressMsg, error) {
	special := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft,
		"right": tea.KeyRight, "home": tea.KeyHome, "end": tea.KeyEnd, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown,
		"backspace": tea.KeyBackspace, "delete": tea.KeyDelete, "f1": tea.KeyF1,
	}
	if code, ok := special[name]; ok {
		return tea.KeyPressMsg{Code: code}, nil
	}
	switch letter, ctrl := strings.CutPrefix(name, "ctrl+"); {
	case name == "space":
		return tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}, nil
	case name == "shift+tab":
		return tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift}, nil
	case ctrl && len(letter) == 1:
		return tea.KeyPressMsg{Code: rune(letter[0]), Mod: tea.ModCtrl}, nil
	case len([]rune(name)) == 1:
		return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}, nil
	}
	return tea.KeyPressMsg{}, fmt.Errorf("unknown key %q; use a single letter, or enter, esc, tab, up, down, pgdown, space, ctrl+r", name)
}
