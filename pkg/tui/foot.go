package tui

import (
	"strings"

	"charm.land/bubbles/v2/key"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/pane"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// foot is the last line: what is being typed, else what is to be said, else what can be pressed.
func (m *Model) foot() string {
	t := m.theme
	switch {
	case m.leaving:
		return t.Prompt.Render(text.Fit(" "+leaveQuestion, m.width))
	case m.typing:
		return m.line.View(m.width)
	case m.flash.text != "":
		style, glyph := t.Good, theme.GlyphGood
		if m.flash.bad {
			style, glyph = t.Bad, theme.GlyphBad
		} else if m.under > 0 {
			style, glyph = t.Warn, theme.GlyphWarn
		}
		return style.Render(text.Fit(" "+glyph+" "+text.Clean(m.flash.text), m.width))
	}
	var b strings.Builder
	for _, k := range m.hints() {
		h := k.Help()
		hint := " " + t.Key.Render(h.Key) + " " + t.Dim.Render(h.Desc) + " "
		if text.Width(b.String())+text.Width(hint) > m.width {
			break
		}
		b.WriteString(hint)
	}
	return text.Fit(b.String(), m.width)
}

// hints are the keys that are worth a place at the foot, the first the most.
func (m *Model) hints() []key.Binding {
	k := m.keys
	hints := []key.Binding{k.help, k.prompt, k.filter}
	if m.play != nil {
		hints = append(hints, k.playing()...)
	}
	if len(m.over) > 0 {
		hints = []key.Binding{k.back, k.help}
	} else {
		hints = append(hints, k.selected()...)
	}
	hints = append(hints, m.bindings(m.top())...)
	if len(m.over) == 0 {
		hints = append(hints, k.quit)
	}
	return enabled(hints)
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
		for _, k := range b.Keys() {
			if k == n {
				return true
			}
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

// helpPane shows all keys that have an effect now.
func (m *Model) helpPane() panel.Panel {
	here := "Here"
	if len(m.over) == 0 {
		here = m.at.String()
	}
	sections := []pane.Section{
		{Title: here, Bindings: m.bindings(m.top())},
		{Title: "What is selected", Bindings: enabled(m.keys.selected())},
		{Title: "Everywhere", Bindings: enabled(m.keys.general())},
	}
	if m.play != nil {
		sections = append(sections, pane.Section{Title: "The recording", Bindings: enabled(m.keys.playing())})
	}
	return pane.NewHelp(sections)
}
