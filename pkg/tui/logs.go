package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/pane"
)

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
