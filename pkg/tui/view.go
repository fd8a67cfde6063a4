package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
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

// RenderFrame returns one frame of a recording as text: at an offset, after some keys, named as in the help and with spaces between ("2
// j enter"). It is the same every time: in the mono theme, without escapes.
func RenderFrame(o Options, width, height int, at time.Duration, keys string) (string, error) {
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

// header returns the first line: the sandbox, its state, and its age.
func (m *Model) header() string {
	a, t := m.state.About(), m.theme
	left := []string{t.Title.Render(text.Clean(cmp.Or(a.Sandbox, "vsphere-sandbox")))}
	if a.Topology != "" {
		left = append(left, t.Text.Render(text.Clean(a.Topology)))
	}
	if g := ground(a.Ground); g != "" {
		style := t.Dim
		if a.Ground.Real() == api.RealWritable {
			style = t.Warn // actions change real VMs
		}
		left = append(left, style.Render(text.Clean(g)))
	}
	if a.Speed > 0 {
		left = append(left, t.Dim.Render(fmt.Sprintf("speed %g", a.Speed)))
	}
	phase, style := m.phase()
	left = append(left, style.Render(phase))

	clock := ""
	if now := m.state.Now(); !now.IsZero() {
		clock = t.Dim.Render(now.Format("15:04:05"))
	}
	if m.play != nil {
		clock = t.Dim.Render(m.play.String())
	}
	room := m.width - text.Width(clock) - 2
	counts, wide := m.counts(), 0
	for _, c := range counts {
		wide += 2 + text.Width(c)
	}
	join := func() string { return " " + strings.Join(left, t.Dim.Render(" · ")) }
	line := join()
	if a.Speed > 0 && text.Width(line)+wide > room { // it never changes
		left = slices.Delete(left, len(left)-2, len(left)-1)
		line = join()
	}
	line = text.Cut(line, room)
	for _, c := range counts { // as far as there is room
		if text.Width(line)+2+text.Width(c) > room {
			break
		}
		line += "  " + c
	}
	return text.Fit(line, room) + " " + clock + " "
}

// ground returns the ground of a sandbox other than the default: its own cluster and simulated vCenters.
func ground(g api.Ground) string {
	var words []string
	if g.Cluster != "" && g.Cluster != api.ClusterEmbedded {
		words = append(words, map[string]string{api.ClusterNone: "no cluster", api.ClusterPod: "existing cluster", api.ClusterExisting: "existing cluster"}[g.Cluster])
		words[0] = cmp.Or(words[0], g.Cluster)
	}
	if real := g.Real(); real != "" {
		words = append(words, "real vCenters, "+real)
	}
	return strings.Join(words, ", ")
}

// phase returns the phase of the sandbox in a word or two.
func (m *Model) phase() (string, theme.Style) {
	if cut := m.state.IsCut(); cut == errEnded { //nolint:errorlint // it is never wrapped
		return theme.GlyphBad + " ended", m.theme.Bad
	} else if cut != nil {
		phase := theme.GlyphUnknown + " not connected"
		if !m.updatedAt.IsZero() {
			phase += ", " + text.Ago(m.state.Now().Sub(m.updatedAt)) + " old"
		}
		return phase, m.theme.Bad
	}
	if !m.state.World().Synced() {
		return theme.GlyphWarn + " connecting", m.theme.Warn
	}
	m.phaseAt.take(m.state.World())
	switch m.phaseAt.kind {
	case "sandbox.stopping":
		return theme.GlyphOff + " stopping", m.theme.Warn
	case "boot.failed":
		return theme.GlyphBad + " boot failed", m.theme.Bad
	case "boot.step":
		step, _, _ := strings.Cut(m.phaseAt.text, ": up in ")
		return theme.GlyphWarn + " booting, " + text.Clean(step) + " up", m.theme.Warn
	}
	return theme.GlyphGood + " ready", m.theme.Good
}

// phaseAt is the newest event about the life of the sandbox.
type phaseAt struct {
	of         *world.World
	seen       uint64 // the Seq of the last event that was read
	kind, text string
}

// take reads the new events.
func (p *phaseAt) take(w *world.World) {
	if last := w.LastEvent(); p.of != w || last < p.seen {
		*p = phaseAt{of: w}
	} else if last == p.seen {
		return
	}
	events := w.After(p.seen)
	p.seen = w.LastEvent()
	for i := len(events) - 1; i >= 0; i-- {
		switch e := &events[i]; e.Kind {
		case "sandbox.ready", "sandbox.stopping", "boot.failed", "boot.step":
			p.kind, p.text = e.Kind, e.Message
			return
		}
	}
}

// counted are the inputs of the counts.
type counted struct {
	of      *world.World
	version uint64
	theme   *theme.Theme
	counts  []string
}

// counts returns how many objects are healthy, of how many, and the problems.
func (m *Model) counts() []string {
	now := counted{of: m.state.World(), version: m.state.Version(world.Node, world.VCenter, world.Lease, fold.Findings), theme: m.theme}
	if now.of != m.counted.of || now.version != m.counted.version || now.theme != m.counted.theme {
		now.counts = m.count()
		m.counted = now
	}
	return m.counted.counts
}

func (m *Model) count() []string {
	w, t := m.state.World(), m.theme
	of := func(what string, good, all int) string {
		glyph, style := theme.GlyphGood, t.Good
		if good < all {
			glyph, style = theme.GlyphBad, t.Bad
		}
		return t.Dim.Render(what+" ") + style.Render(fmt.Sprintf("%s %d/%d", glyph, good, all))
	}
	ready, nodes := 0, 0
	for _, row := range w.Rows(world.Node) {
		nodes++
		if n := row.Value.(api.Node); n.Registered && n.Ready == "True" {
			ready++
		}
	}
	up, slow, vcenters := 0, 0, 0
	for _, row := range w.Rows(world.VCenter) {
		vcenters++
		switch row.Value.(api.VCenter).Gate {
		case "up":
			up++
		case "slow":
			slow++
		}
	}
	leases := 0
	for _, row := range w.Rows(world.Lease) {
		if s := row.Value.(api.Lease).State; s != "healed" {
			leases++
		}
	}
	all := []string{of("nodes", ready, nodes), of("vCenters", up, vcenters)}
	if slow > 0 && up+slow == vcenters { // all answer, some slowly
		all[1] = t.Dim.Render("vCenters ") + t.Warn.Render(fmt.Sprintf("%s %d/%d", theme.GlyphWarn, up, vcenters))
	}
	switch {
	case leases == 1:
		all = append(all, t.Warn.Render(theme.GlyphWarn+" 1 fault"))
	case leases > 1:
		all = append(all, t.Warn.Render(fmt.Sprintf("%s %d faults", theme.GlyphWarn, leases)))
	}
	if n := len(m.state.Findings()); n > 0 {
		all = append(all, t.Conflict.Render(fmt.Sprintf("%s %d", theme.GlyphConflict, n)))
	}
	return all
}

// tabs returns the second line.
func (m *Model) tabs() string {
	var b strings.Builder
	for s := range intent.Screens {
		b.WriteString(" ")
		style := m.theme.Tab
		if s == m.at {
			style = m.theme.TabOn
		}
		b.WriteString(style.Render(tabName(s)))
		b.WriteString(" ")
	}
	right := ""
	switch {
	case m.play != nil:
		right = " " + m.theme.Warn.Render("recording")
	case m.readOnly:
		right = " " + m.theme.Warn.Render("read-only")
	}
	if f := m.filters[m.at]; f != "" && !m.typing {
		room := m.width - text.Width(b.String()) - text.Width(right) - 2
		right = m.theme.Match.Render(text.Cut("/"+text.Clean(f), room)) + right
	}
	room := m.width - text.Width(right) - 1
	return text.Fit(b.String(), room) + right + " "
}

func tabName(s intent.Screen) string { return fmt.Sprintf("%d %s", s+1, s) }

// tabAt returns the screen whose tab is at a column.
func (m *Model) tabAt(x int) (intent.Screen, bool) {
	at := 0
	for s := range intent.Screens {
		at += text.Width(tabName(s)) + 2
		if x < at {
			return s, true
		}
	}
	return 0, false
}

// flash is a message at the foot of the screen.
type flash struct {
	text string
	// command is the equivalent command line of an action.
	command string
	bad     bool
	// under means that the action has not ended yet.
	under        bool
	since, until time.Time
}

const (
	// flashTime is how long a message stays; an error stays twice as long.
	flashTime = 6 * time.Second
	// flashLeast is how long a message stays even if a key is pressed.
	flashLeast = 2 * time.Second
	// flashLines is the maximum number of lines. Answers of servers are the longest.
	flashLines = 8
)

// say shows a message at the foot of the screen.
func (m *Model) say(text string, bad bool) {
	now := m.opts.Now()
	until := now.Add(flashTime)
	if bad {
		until = until.Add(flashTime)
	}
	m.flash = flash{text: text, bad: bad, since: now, until: until}
}

// heard removes a message that was there long enough to be read, when a key is pressed.
func (m *Model) heard() {
	if !m.flash.under && m.opts.Now().Sub(m.flash.since) >= flashLeast {
		m.flash = flash{}
	}
}

// aboveFoot returns what does not fit into the foot, to be shown above it.
func (m *Model) aboveFoot() []string {
	switch {
	case m.leaving:
	case m.typing:
		if wrong := m.line.Error(m.width); wrong != "" {
			return m.lines(theme.GlyphBad, m.theme.Bad, text.Words(wrong, m.width-4))
		}
	case m.flash.text != "":
		said := m.said()
		return said[:len(said)-1]
	}
	return nil
}

// said returns the lines of the message: one if it fits.
func (m *Model) said() []string {
	f, t := m.flash, m.theme
	style, glyph := t.Good, theme.GlyphGood
	switch {
	case f.bad:
		style, glyph = t.Bad, theme.GlyphBad
	case f.under:
		style, glyph = t.Warn, theme.GlyphWarn
	}
	room := max(1, m.width-4)
	lines := text.Words(text.Clean(f.text), room)
	if f.command != "" {
		command := "$ " + text.Clean(f.command)
		if last := len(lines) - 1; text.Width(lines[last])+3+text.Width(command) <= room {
			lines[last] += "   " + command
		} else {
			lines = append(lines, text.Words(command, room)...)
		}
	}
	return m.lines(glyph, style, lines)
}

// lines wraps a text after a glyph, and cuts it off after [flashLines].
func (m *Model) lines(glyph string, style theme.Style, lines []string) []string {
	if most := min(flashLines, max(1, m.layout.body.height)); len(lines) > most {
		lines = append(lines[:most-1:most-1], text.Cut(strings.Join(lines[most-1:], " "), m.width-4))
	}
	for i, l := range lines {
		lines[i] = style.Render(text.Fit(" "+text.Fit(glyph, 2)+l, m.width))
		glyph = ""
	}
	return lines
}
