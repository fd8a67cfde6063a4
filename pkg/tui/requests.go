package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/pane"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
)

const (
	// askTime is the time limit of a request.
	askTime = 15 * time.Second
	// actTime is the time limit of an action: a vCenter may be slow on purpose.
	actTime = 2 * time.Minute
)

// answer is how to handle an answer of the sandbox.
type answer struct{ show func(*Model) }

// request sends a request to the sandbox in the background. The result of f is applied when it has answered.
func (m *Model) request(limit time.Duration, f func(ctx context.Context) func(*Model)) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(m.ctx, limit)
		defer cancel()
		return answer{f(ctx)}
	}
}

// attached is the result of attaching to a sandbox.
type attached struct {
	status api.Status
	err    error
}

// attach requests the status of the sandbox.
func (m *Model) attach() tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(m.ctx, askTime)
		defer cancel()
		status, err := m.opts.Sandbox.Status(ctx)
		return attached{status, err}
	}
}

// attachedTo starts to read the stream of the sandbox.
func (m *Model) attachedTo(a attached) tea.Cmd {
	if a.err != nil {
		m.state.Cut(a.err)
		m.say(reason(a.err), true)
		return tea.Tick(again, func(time.Time) tea.Msg { return m.attach()() })
	}
	s := a.status
	m.state = m.state.Of(fold.About{
		Sandbox: s.Name, Scenario: s.Scenario, Speed: s.Speed, StartedAt: s.StartedAt,
		Version: s.Version, KubernetesVersion: s.KubernetesVersion, Ground: s.Ground,
	})
	m.line.SetState(m.state)
	m.report()
	after := uint64(0)
	if s.LastEvent > history {
		after = s.LastEvent - history
	}
	m.stream = feed(m.ctx, m.opts.Sandbox, after, s.StartedAt)
	return listen(m.stream, m.opts.Now)
}

// askKinds requests the catalogue of faults.
func (m *Model) askKinds() tea.Cmd {
	return m.request(askTime, func(ctx context.Context) func(*Model) {
		kinds, err := m.opts.Sandbox.FaultKinds(ctx)
		return func(m *Model) {
			if err != nil {
				m.say("faults: "+reason(err), true)
				return
			}
			m.kinds = kinds
			m.faults().SetKinds(kinds)
			m.line.SetKinds(kinds)
		}
	})
}

// details shows a subject on both planes.
func (m *Model) details(s api.Subject) tea.Cmd {
	if m.refuseAsking(s) {
		return nil
	}
	if cmd, ok := m.repeated(s, func(p panel.Panel) bool { _, ok := p.(*pane.Details); return ok }); ok {
		return cmd
	}
	p := pane.NewDetails(s)
	return m.pushAsked(p, s, func(ctx context.Context) func(*Model) {
		i, err := m.opts.Sandbox.Inspect(ctx, s)
		return func(*Model) { p.SetInspection(i, inWords(err)) }
	})
}

// why explains a subject.
func (m *Model) why(s api.Subject) tea.Cmd {
	if m.refuseAsking(s) {
		return nil
	}
	if cmd, ok := m.repeated(s, func(p panel.Panel) bool { _, ok := p.(*pane.Why); return ok }); ok {
		return cmd
	}
	p := pane.NewWhy(s)
	return m.pushAsked(p, s, func(ctx context.Context) func(*Model) {
		e, err := m.opts.Sandbox.Explain(ctx, s)
		return func(*Model) { p.SetExplanation(e, inWords(err)) }
	})
}

// refuseAsking shows why no request about a subject is possible, if so.
func (m *Model) refuseAsking(s api.Subject) bool {
	switch {
	case m.play != nil:
		m.say("this is a recording: only a running sandbox answers", true)
	case s.Name == "":
		m.say("nothing is selected", true)
	default:
		return false
	}
	return true
}

// plan requests the plan of a fault.
func (m *Model) plan(i intent.Plan) tea.Cmd {
	form, ok := m.top().(interface {
		SetPlan(ask int, l api.Lease, err error)
	})
	if !ok || m.play != nil {
		return nil
	}
	r := i.InjectRequest
	r.DryRun = true
	return m.request(askTime, func(ctx context.Context) func(*Model) {
		lease, err := m.opts.Sandbox.Inject(ctx, r)
		return func(*Model) { form.SetPlan(i.Ask, lease, inWords(err)) }
	})
}

// reason returns the text of an error, with what to try.
func reason(err error) string {
	var refusal *api.Error
	switch {
	case errors.As(err, &refusal) && refusal.Try != "":
		return fmt.Sprintf("%v (try: %s)", err, refusal.Try)
	case errors.Is(err, context.DeadlineExceeded):
		return "the sandbox did not answer in time"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return "the sandbox does not exist any more"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return "the sandbox closed the connection"
	}
	return err.Error()
}

// inWords is an error with its [reason] as text, for panels that show what to try separately.
func inWords(err error) error {
	if refusal := (*api.Error)(nil); err == nil || errors.As(err, &refusal) {
		return err
	}
	return errors.New(reason(err))
}
