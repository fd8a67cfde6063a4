package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
)

// typeCommand opens the line at the foot for a command.
func (m *Model) typeCommand(text string) {
	m.typing = true
	m.line.SetState(m.state)
	m.line.Command(text)
}

// typeFilter opens it for the filter of what is on top.
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

// typed gives a key to the line.
func (m *Model) typed(k tea.KeyPressMsg) tea.Cmd {
	i, done := m.line.Handle(k)
	if done {
		m.typing = false
	}
	cmd := m.do(i)
	m.bind()
	return cmd
}

// paste types what was pasted, as far as it is one line.
func (m *Model) paste(s string) tea.Cmd {
	if m.typing {
		return m.do(m.line.Paste(s))
	}
	if p, ok := m.top().(interface{ Paste(string) }); ok {
		p.Paste(s)
	}
	return nil
}
