package tui

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
)

// foot is the last line: what is being typed, else what is to be said, else what can be pressed.
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

// hinted are as many hints as there is room for.
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

// hints are the keys that are worth a place at the foot, the most useful first, and those that always have one at its end.
// How to move is known, or looked up.
func (m *Model) hints() (first, last []key.Binding) {
	k := m.rootKeys()
	own := m.worth(m.bindings(m.top()))
	if len(m.over) > 0 {
		return enabled(append(own, k.back)), enabled([]key.Binding{k.filter, k.help})
	}
	if m.play != nil {
		first = k.playing()
	}
	for i, b := range own { // what enter does is what a row is for
		if slices.Contains(b.Keys(), "enter") {
			first, own = append(first, b), slices.Delete(own, i, i+1)
			break
		}
	}
	first = append(first, k.details, k.why, k.breaks, k.power)
	first = append(append(first, own...), k.logs, k.focus, k.quit)
	return enabled(first), enabled([]key.Binding{k.filter, k.prompt, k.help})
}

// worth leaves out the keys that only move. Where text is typed, ctrl+d does something else.
func (m *Model) worth(all []key.Binding) []key.Binding {
	moves := []string{"up", "down", "left", "right", "home", "end", "pgup", "pgdown", "shift+tab"}
	if !m.typesText() {
		moves = append(moves, "ctrl+u", "ctrl+d")
	}
	return slices.DeleteFunc(all, func(b key.Binding) bool {
		return slices.ContainsFunc(b.Keys(), func(k string) bool { return slices.Contains(moves, k) })
	})
}

// bindings are those of a panel that have an effect now.
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
	for _, n := range names {
		if slices.Contains(b.Keys(), n) {
			return true
		}
	}
	return false
}

func enabled(all []key.Binding) (on []key.Binding) {
	for _, b := range all {
		if b.Enabled() && b.Help().Key != "" {
			on = append(on, b)
		}
	}
	return on
}
