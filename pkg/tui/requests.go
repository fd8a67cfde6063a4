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
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/faults"
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
		Sandbox: s.Name, Topology: s.Topology, Speed: s.Speed, StartedAt: s.StartedAt,
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

// snapshots asks the sandbox for its snapshots, and shows them.
func (m *Model) snapshots() tea.Cmd {
	return m.request(askTime, func(ctx context.Context) func(*Model) {
		all, err := m.opts.Sandbox.Snapshots(ctx)
		return func(m *Model) {
			if err != nil {
				m.say("snapshots: "+reason(err), true)
				return
			}
			menu := faults.NewSnapshots(all, m.opts.Now())
			menu.Sandbox = m.opts.Name
			m.push(menu, true, nil)
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

// exchange shows a call.
func (m *Model) exchange(i intent.Exchange) tea.Cmd {
	if m.refuseAsking(api.Subject{Kind: "call", Name: "-"}) {
		return nil
	}
	p := pane.NewExchange()
	m.push(p, false, nil)
	return m.request(askTime, func(ctx context.Context) func(*Model) {
		e, err := m.opts.Sandbox.LastExchange(ctx, i.VCenter, i.Client, i.Method)
		return func(*Model) { p.SetExchange(e, inWords(err)) }
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

// logged is some lines of a log.
type logged struct {
	pane  *pane.Logs
	lines []string
	err   error
	more  <-chan logged
}

// logs follows the log of a component, or asks which.
func (m *Model) logs(component string) tea.Cmd {
	switch {
	case m.play != nil || m.opts.Logs == nil:
		m.say("a recording has no logs", true)
		return nil
	case component == "":
		m.push(pane.NewList("Logs of which component?", pane.Components(m.state)), true, nil)
		return nil
	}
	m.closeBoxes() // the list of components
	p := pane.NewLogs(component)
	ctx, cancel := context.WithCancel(m.ctx)
	m.push(p, false, cancel)
	return func() tea.Msg {
		more := make(chan logged)
		go m.follow(ctx, p, component, more)
		return nextLines(more)()
	}
}

// follow sends the lines of a log until ctx ends.
func (m *Model) follow(ctx context.Context, p *pane.Logs, component string, more chan logged) {
	defer close(more)
	send := func(l logged) {
		select {
		case more <- l:
		case <-ctx.Done():
		}
	}
	defer guard(func(err error) { send(logged{pane: p, err: err, more: more}) })
	err := m.opts.Logs(ctx, component, func(lines []string) { send(logged{pane: p, lines: lines, more: more}) })
	if err != nil && ctx.Err() == nil {
		send(logged{pane: p, err: err, more: more})
	}
}

func nextLines(more <-chan logged) tea.Cmd {
	return func() tea.Msg {
		if l, ok := <-more; ok {
			return l
		}
		return nil
	}
}

// log shows lines of a log.
func (m *Model) log(l logged) tea.Cmd {
	if raise(l.err); l.err != nil {
		l.pane.SetError(l.err)
		return nil
	}
	l.pane.Append(l.lines)
	return nextLines(l.more)
}

// component returns the component of a subject: itself, or the kubelet of a node or VM; "" for others.
func (m *Model) component(s api.Subject) string {
	switch s.Kind {
	case "component":
		return s.Name
	case "node", "vm":
		vm, ok := m.vmOf(s)
		if !ok {
			return ""
		}
		for _, name := range []string{"node/" + vm.Name, "node/" + vm.VCenter + "/" + vm.Name} {
			for _, c := range m.state.World().Rows(world.Component) {
				if c.Key == name {
					return name
				}
			}
		}
	}
	return ""
}
