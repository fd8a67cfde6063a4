package tui

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/pane"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
)

// typesText tells whether letters are for what is on top.
func (m *Model) typesText() bool {
	w, ok := m.top().(panel.Typist)
	return ok && w.Typing()
}

// rootKeys are the keys of the root model as they are now: without those that what is on top takes for itself, which are
// nearly all while text is typed there.
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

// helpPane shows all keys that have an effect now.
func (m *Model) helpPane() panel.Panel {
	k := m.rootKeys()
	here := "What is open"
	if len(m.over) == 0 {
		here = m.at.String()
	}
	sections := []pane.Section{
		{Title: here, Bindings: m.bindings(m.top())},
		{Title: "What is selected", Bindings: enabled(k.selected())},
		{Title: "Everywhere", Bindings: enabled(k.general())},
	}
	if m.play != nil {
		sections = append(sections, pane.Section{Title: "The recording", Bindings: enabled(k.playing())})
	}
	return pane.NewHelp(sections)
}

// helps tells whether the help is open.
func (m *Model) helps() bool {
	_, ok := m.top().(*pane.Help)
	return ok
}

// help opens the help, or closes it.
func (m *Model) help() {
	if m.helps() {
		m.pop()
		return
	}
	m.push(m.helpPane(), false, nil)
}
