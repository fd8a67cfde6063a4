package tui

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/pane"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
)

// keymap has the keys of the root model. Panels have their own.
type keymap struct {
	help, prompt, filter, next, previous, back, quit, force, suspend key.Binding
	readOnly, logs, why, details, power, breaks, focus, snapshots    key.Binding
	screens                                                          key.Binding
	pause, rewind, forward, slower, faster                           key.Binding
}

func newKeymap() keymap {
	b := func(keys []string, shown, does string) key.Binding {
		return key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, does))
	}
	return keymap{
		help:      b([]string{"?", "f1"}, "?", "all keys"),
		prompt:    b([]string{":"}, ":", "command"),
		filter:    b([]string{"/"}, "/", "filter"),
		next:      b([]string{"tab"}, "tab", "next screen"),
		previous:  b([]string{"shift+tab"}, "shift+tab", "previous screen"),
		back:      b([]string{"esc"}, "esc", "back"),
		quit:      b([]string{"q"}, "q", "quit"),
		force:     b([]string{"ctrl+c"}, "ctrl+c", "quit; twice: at once"),
		suspend:   b([]string{"ctrl+z"}, "ctrl+z", "suspend; fg returns"),
		readOnly:  b([]string{"ctrl+r"}, "ctrl+r", "read-only on/off"),
		logs:      b([]string{"l"}, "l", "logs"),
		why:       b([]string{"w"}, "w", "why"),
		details:   b([]string{"y", "enter"}, "enter/y", "details"),
		power:     b([]string{"p"}, "p", "power"),
		breaks:    b([]string{"f"}, "f", "break it"),
		snapshots: b([]string{"B"}, "B", "snapshots"),
		focus:     b([]string{"o"}, "o", "show in overview"),
		screens:   b([]string{"1", "2", "3", "4", "5", "6", "7"}, "1-7", "screens"),
		pause:     b([]string{"P"}, "P", "pause/play"),
		rewind:    b([]string{"<"}, "<", "10s back"),
		forward:   b([]string{">"}, ">", "10s on"),
		slower:    b([]string{"{"}, "{", "half speed"),
		faster:    b([]string{"}"}, "}", "double speed"),
	}
}

// all returns all of them.
func (k *keymap) all() []*key.Binding {
	return []*key.Binding{
		&k.help, &k.prompt, &k.filter, &k.next, &k.previous, &k.back, &k.quit, &k.force, &k.suspend, &k.readOnly, &k.logs, &k.why, &k.details,
		&k.power, &k.breaks, &k.focus, &k.snapshots, &k.screens, &k.pause, &k.rewind, &k.forward, &k.slower, &k.faster,
	}
}

// general returns the enabled keys for the help.
func (k keymap) general() []key.Binding {
	return []key.Binding{
		k.screens, k.next, k.previous, k.prompt, k.filter, k.back, k.snapshots, k.help, k.quit, k.force, k.suspend, k.readOnly,
	}
}

// selected returns the keys about the selected object.
func (k keymap) selected() []key.Binding {
	return []key.Binding{k.details, k.why, k.logs, k.power, k.breaks, k.focus}
}

// playing returns the keys of a recording.
func (k keymap) playing() []key.Binding {
	return []key.Binding{k.pause, k.rewind, k.forward, k.slower, k.faster}
}

// typesText reports whether the top panel takes letters.
func (m *Model) typesText() bool {
	w, ok := m.top().(panel.Typist)
	return ok && w.Typing()
}

// rootKeys returns the enabled keys of the root model, without those that the top panel takes: nearly all while it takes text.
func (m *Model) rootKeys() keymap {
	always := []string{"ctrl+c", "ctrl+z", "f1"}
	k := m.keys
	k.help.SetEnabled(!m.helps())
	var taken []string
	for _, b := range enabled(m.top().Bindings()) {
		taken = append(taken, b.Keys()...)
	}
	typing := m.typesText()
	for _, b := range k.all() {
		left := slices.DeleteFunc(slices.Clone(b.Keys()), func(name string) bool {
			return !slices.Contains(always, name) && (typing || slices.Contains(taken, name))
		})
		switch {
		case len(left) == 0:
			b.SetEnabled(false)
		case len(left) < len(b.Keys()):
			b.SetKeys(left...)
			b.SetHelp(strings.Join(left, "/"), b.Help().Desc)
		}
	}
	return k
}

// helpPane shows all enabled keys.
func (m *Model) helpPane() panel.Panel {
	k := m.rootKeys()
	here := "This panel"
	if len(m.over) == 0 {
		here = m.at.String()
	}
	sections := []pane.Section{
		{Title: here, Bindings: m.bindings(m.top())},
		{Title: "Selected object", Bindings: enabled(k.selected())},
		{Title: "Everywhere", Bindings: enabled(k.general())},
	}
	if m.play != nil {
		sections = append(sections, pane.Section{Title: "The recording", Bindings: enabled(k.playing())})
	}
	return pane.NewHelp(sections)
}

// helps reports whether the help is open.
func (m *Model) helps() bool {
	_, ok := m.top().(*pane.Help)
	return ok
}

// help opens or closes the help.
func (m *Model) help() {
	if m.helps() {
		m.pop()
		return
	}
	m.push(m.helpPane(), false, nil)
}

// foot returns the last line: the prompt, or a message, or the keys.
func (m *Model) foot() string {
	switch {
	case m.leaving:
		return m.theme.Prompt.Render(text.Fit(" "+leaveQuestion, m.width))
	case m.typing:
		return m.line.View(m.width)
	case m.flash.text != "":
		said := m.said()
		return said[len(said)-1]
	}
	first, last := m.hints()
	room := m.width - text.Width(m.hinted(last, m.width))
	return text.Fit(m.hinted(first, room), room) + m.hinted(last, m.width)
}

// hinted returns as many hints as there is room for.
func (m *Model) hinted(hints []key.Binding, room int) string {
	var b strings.Builder
	used := 0
	for _, k := range hints {
		h := k.Help()
		hint := " " + m.theme.Key.Render(h.Key) + " " + m.theme.Dim.Render(h.Desc) + " "
		if used += text.Width(hint); used > room {
			break
		}
		b.WriteString(hint)
	}
	return b.String()
}

// hints returns the keys for the foot, the most useful first, and those that always have a place. It leaves out keys that move.
func (m *Model) hints() (first, last []key.Binding) {
	k := m.rootKeys()
	own := m.worth(m.bindings(m.top()))
	if len(m.over) > 0 {
		return enabled(append(own, k.back)), enabled([]key.Binding{k.filter, k.help})
	}
	if m.play != nil {
		first = k.playing()
	}
	for i, b := range own { // enter is the main action of a row
		if slices.Contains(b.Keys(), "enter") {
			first, own = append(first, b), slices.Delete(own, i, i+1)
			break
		}
	}
	first = append(first, k.details, k.why, k.breaks, k.power)
	first = append(append(first, own...), k.logs, k.focus, k.quit)
	return enabled(first), enabled([]key.Binding{k.filter, k.prompt, k.help})
}

// worth leaves out the keys that only move. In a text field, ctrl+d does something else.
func (m *Model) worth(all []key.Binding) []key.Binding {
	moves := []string{"up", "down", "left", "right", "home", "end", "pgup", "pgdown", "shift+tab"}
	if !m.typesText() {
		moves = append(moves, "ctrl+u", "ctrl+d")
	}
	return slices.DeleteFunc(all, func(b key.Binding) bool {
		return slices.ContainsFunc(b.Keys(), func(k string) bool { return slices.Contains(moves, k) })
	})
}

// bindings returns the enabled keys of a panel.
func (m *Model) bindings(p panel.Panel) []key.Binding {
	all := enabled(p.Bindings())
	w, ok := p.(panel.Writer)
	if !ok || !m.readOnly {
		return all
	}
	var left []key.Binding
	for _, b := range all {
		if !writes(w.Writes(), b) {
			left = append(left, b)
		}
	}
	return left
}

func writes(names []string, b key.Binding) bool {
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(b.Keys(), n) })
}

func enabled(all []key.Binding) (on []key.Binding) {
	for _, b := range all {
		if b.Enabled() && b.Help().Key != "" {
			on = append(on, b)
		}
	}
	return on
}

// typeCommand opens the prompt for a command.
func (m *Model) typeCommand(text string) {
	m.typing = true
	m.line.SetState(m.state)
	m.line.Command(text)
}

// typeFilter opens the prompt for the filter of the top panel.
func (m *Model) typeFilter() {
	if _, ok := m.top().(panel.Filterer); !ok {
		return
	}
	before := ""
	if len(m.over) == 0 {
		before = m.filters[m.at]
	}
	m.typing = true
	m.line.Filter(before)
}

// typed passes a key to the prompt.
func (m *Model) typed(k tea.KeyPressMsg) tea.Cmd {
	i, done := m.line.Handle(k)
	if done {
		m.typing = false
	}
	cmd := m.do(i)
	m.bind()
	return cmd
}

// paste types the first line of pasted text.
func (m *Model) paste(s string) tea.Cmd {
	if m.typing {
		return m.do(m.line.Paste(s))
	}
	if p, ok := m.top().(interface{ Paste(string) }); ok {
		p.Paste(s)
	}
	return nil
}
