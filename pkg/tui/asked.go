package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
)

// askEvery is the minimum time between two requests for an open panel.
const askEvery = 2 * time.Second

// asked is a request about a subject whose answer is on the screen: it is repeated after changes.
type asked struct {
	subject api.Subject
	// question sends the request; its result shows the answer.
	question func(context.Context) func(*Model)
	under    bool
	at       time.Time
	version  uint64 // of the state at the request
}

// pushAsked opens a panel that shows an answer, and sends the request.
func (m *Model) pushAsked(p panel.Panel, s api.Subject, question func(context.Context) func(*Model)) tea.Cmd {
	m.push(p, false, nil)
	a := &asked{subject: s, question: question}
	m.over[len(m.over)-1].asked = a
	return m.pose(a)
}

// pose sends a request.
func (m *Model) pose(a *asked) tea.Cmd {
	a.under, a.at, a.version = true, m.opts.Now(), m.happened()
	return m.request(askTime, func(ctx context.Context) func(*Model) {
		show := a.question(ctx)
		return func(m *Model) {
			a.under = false
			show(m)
		}
	})
}

// askAgain repeats the request of the top panel after a change.
func (m *Model) askAgain() tea.Cmd {
	n := len(m.over)
	if n == 0 || m.state.IsCut() != nil {
		return nil
	}
	a := m.over[n-1].asked
	if a == nil || a.under || a.version == m.happened() || m.opts.Now().Sub(a.at) < askEvery {
		return nil
	}
	return m.pose(a)
}

// repeated repeats the request of the top panel, if is accepts it and it is about the subject.
func (m *Model) repeated(s api.Subject, is func(panel.Panel) bool) (tea.Cmd, bool) {
	n := len(m.over)
	if n == 0 || !is(m.top()) || m.over[n-1].asked == nil || m.over[n-1].asked.subject != s {
		return nil, false
	}
	if m.over[n-1].asked.under {
		return nil, true
	}
	return m.pose(m.over[n-1].asked), true
}

// happened grows with every update that an answer may depend on: all but calls, which never pause.
func (m *Model) happened() uint64 { return m.state.Version(append(world.Kinds(), world.Event)...) }
