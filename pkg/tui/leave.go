package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// quit leaves the UI; of one that owns its sandbox it asks first what is to become of that.
func (m *Model) quit() tea.Cmd {
	if m.opts.Owned && m.state.IsCut() != errEnded { //nolint:errorlint // it is never wrapped
		m.leaving = true
		return nil
	}
	return m.leave(false)
}

// suspend goes to the shell, until the person comes back. A UI that owns its sandbox does not: that would stand still, too.
func (m *Model) suspend() tea.Cmd {
	if m.opts.Owned {
		m.say("the sandbox runs in this process, and would stand still, too", true)
		return nil
	}
	return tea.Suspend
}

// interrupt is ctrl+c: as q, and at once when it is pressed again.
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
		if l.State != "healed" && l.State != "healing" { // also one that could not be healed
			m.outcome.Leases++
		}
	}
	return tea.Quit
}

// leaveKey is the answer to what is to become of the sandbox.
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

// leaveQuestion is asked at the foot of the screen.
const leaveQuestion = "Leave: s stops the sandbox, l leaves it running, any other key stays"
