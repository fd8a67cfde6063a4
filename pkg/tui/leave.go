package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// quit leaves the UI. If the UI owns its sandbox, it first asks whether to stop it.
func (m *Model) quit() tea.Cmd {
	if m.opts.Owned && m.state.IsCut() != errEnded { //nolint:errorlint // it is never wrapped
		m.leaving = true
		return nil
	}
	return m.leave(false)
}

// suspend suspends the process, unless it owns the sandbox, which would be suspended too.
func (m *Model) suspend() tea.Cmd {
	if m.opts.Owned {
		m.say("the sandbox runs in this process and would be suspended too", true)
		return nil
	}
	return tea.Suspend
}

// interrupt handles ctrl+c: like q, and quits at once if it is repeated.
func (m *Model) interrupt() tea.Cmd {
	if m.opts.Owned && !m.leaving {
		return m.quit()
	}
	return m.leave(m.opts.Owned)
}

// leave ends the UI.
func (m *Model) leave(stop bool) tea.Cmd {
	m.outcome.Stop = stop
	for _, l := range world.Values[api.Lease](m.state.World(), world.Lease) {
		if l.State != "healed" && l.State != "healing" { // including those that failed to heal
			m.outcome.Leases++
		}
	}
	return tea.Quit
}

// leaveKey handles the answer of leaveQuestion.
func (m *Model) leaveKey(k string) tea.Cmd {
	m.leaving = false
	switch k {
	case "s", "y":
		return m.leave(true)
	case "l":
		return m.leave(false)
	}
	return nil
}

// leaveQuestion asks what to do with the sandbox, at the foot of the screen.
const leaveQuestion = "Leave: s stops the sandbox, l leaves it running, any other key stays"
