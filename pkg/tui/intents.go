package tui

import (
	"context"
	"errors"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/confirm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/faults"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/timeline"
)

// do carries out an intent. It is the only place that does.
func (m *Model) do(i intent.Intent) tea.Cmd {
	switch i := i.(type) {
	case nil:
	case intent.Action:
		return m.ask(i)
	case intent.Go:
		m.show(i.Screen)
	case intent.Back:
		m.back()
	case intent.Quit:
		return m.quit()
	case intent.Help:
		m.help()
	case intent.Prompt:
		m.typeCommand(i.Text)
	case intent.Filter:
		m.filter(i.Text)
	case intent.ReadOnly:
		m.toggleReadOnly()
	case intent.Say:
		m.say(i.Text, i.Bad)
	case intent.Focus:
		m.focus(i.Subject)
	case intent.Chain:
		m.chain(i.Seq)
	case intent.Details:
		return m.details(i.Subject)
	case intent.Why:
		return m.why(i.Subject)
	case intent.Logs:
		return m.logs(i.Component)
	case intent.Exchange:
		return m.exchange(i)
	case intent.Power:
		m.power(i.Subject)
	case intent.Snapshots:
		return m.snapshots()
	case intent.Break:
		m.breakIt(i.Subject)
	case intent.Fill:
		m.fill(i)
	case intent.Plan:
		return m.plan(i)
	default:
		m.say(fmt.Sprintf("nothing is done about %T", i), true)
	}
	return nil
}

// ask starts an action, after a question if it is dangerous. It enforces read-only mode for keys, menus and commands.
func (m *Model) ask(a intent.Action) tea.Cmd {
	dry, _ := a.(intent.Inject)
	switch {
	case m.play != nil:
		m.say("this is a recording: nothing can be changed", true)
	case dry.DryRun: // a plan changes nothing
		return m.act(a)
	case m.readOnly && m.opts.Locked:
		m.say("read-only: nothing is changed", true)
	case m.readOnly:
		m.say("read-only: ctrl+r allows changes", true)
	case a.Danger() == "" || m.confirmed():
		return m.act(a)
	default:
		m.push(confirm.New(a, m.command(a)), true, nil)
	}
	return nil
}

// confirmed reports whether the top panel is the question about the action.
func (m *Model) confirmed() bool {
	_, ok := m.top().(*confirm.Question)
	return ok
}

// command returns the equivalent command line.
func (m *Model) command(a intent.Action) string {
	return intent.Line(a, "vsphere-sandbox", m.opts.Name)
}

// act runs an action.
func (m *Model) act(a intent.Action) tea.Cmd {
	if m.confirmed() {
		m.pop()
	}
	asked := m.top() // a menu or a form, to close when this is done
	now, command := m.opts.Now(), m.command(a)
	m.flash = flash{text: "…", command: command, under: true, since: now, until: now.Add(actTime)}
	if m.doing[command] { // a key was pressed twice while a vCenter is slow
		return nil
	}
	m.under++
	m.doing[command] = true
	return m.request(actTime, func(ctx context.Context) func(*Model) {
		said, err := a.Do(ctx, m.opts.Sandbox)
		return func(m *Model) {
			m.under--
			delete(m.doing, command)
			if u := (*intent.Unconfirmed)(nil); errors.As(err, &u) {
				m.unconfirmed(u, said, m.top() == asked)
				return
			}
			if err != nil {
				m.say(reason(err), true)
				return
			}
			if m.top() == asked {
				m.closeBoxes()
			}
			m.say(said, false)
			m.flash.command = command
		}
	})
}

// unconfirmed asks about actions that were not done because they would change VMs of real vCenters; said describes the completed
// ones. It does not ask a user who has opened something else since: the next key would become the answer.
func (m *Model) unconfirmed(u *intent.Unconfirmed, said string, there bool) {
	if !there || m.typing || m.leaving {
		m.say("not done: "+u.Error()+" Repeat it to confirm", true)
		return
	}
	switch m.flash = (flash{}); {
	case u.Rest != nil:
		m.say(reason(u.Rest), true)
	case said != "":
		m.say(said, false)
	}
	m.push(confirm.New(u.Ask, m.command(u.Ask)), true, nil)
}

// closeBoxes closes the top menus, forms and lists.
func (m *Model) closeBoxes() {
	for n := len(m.over); n > 0 && m.over[n-1].box; n = len(m.over) {
		m.pop()
	}
}

// show goes to a screen.
func (m *Model) show(s intent.Screen) {
	if s < 0 || s >= intent.Screens {
		return
	}
	for m.pop() {
	}
	m.at = s
	m.screens[s].SetState(m.state)
}

// back closes the top panel, or removes the filter.
func (m *Model) back() {
	if m.pop() {
		return
	}
	if m.filters[m.at] != "" {
		m.filter("")
	}
}

// filter sets the filter of the top panel.
func (m *Model) filter(text string) {
	f, ok := m.top().(panel.Filterer)
	if !ok {
		return
	}
	if len(m.over) == 0 {
		m.filters[m.at] = text
	}
	f.SetFilter(text)
}

func (m *Model) toggleReadOnly() {
	switch {
	case m.play != nil, m.opts.Locked:
		m.say("read-only, always", true)
	case m.readOnly:
		m.readOnly = false
		m.say("changes are allowed", false)
	default:
		m.readOnly = true
		if _, ok := m.top().(*faults.Menu); ok { // none of its actions is possible any more
			m.pop()
		}
		m.say("read-only: nothing is changed until ctrl+r", false)
	}
	if m.helps() { // the keys have changed
		m.pop()
		m.push(m.helpPane(), false, nil)
	}
}

// focus selects a subject on its screen. It removes a filter that hides it.
func (m *Model) focus(s api.Subject) {
	on, there := screenOf(s)
	if !there {
		m.say(fmt.Sprintf("%s %s is on no screen", s.Kind, s.Name), true)
		return
	}
	m.show(on)
	c, ok := m.screens[on].(panel.Chooser)
	if !ok || c.Choose(s) {
		return
	}
	if hid := m.filters[on]; hid != "" {
		m.filter("")
		if c.Choose(s) {
			m.say(fmt.Sprintf("removed the filter %q, which hides %s %s", hid, s.Kind, s.Name), false)
			return
		}
		m.filter(hid)
	}
	m.say(fmt.Sprintf("%s %s does not exist", s.Kind, s.Name), true)
}

// screenOf returns the screen for the kind of a subject, if there is one.
func screenOf(s api.Subject) (on intent.Screen, ok bool) {
	switch s.Kind {
	case "volume":
		return intent.Volumes, true
	case "service":
		return intent.Services, true
	case "node", "vm", "host", "vcenter":
		return intent.Overview, true
	}
	return intent.Overview, false
}

// chain shows the chain of an event.
func (m *Model) chain(seq uint64) {
	m.show(intent.Timeline)
	if !m.screens[intent.Timeline].(*timeline.Screen).ShowChain(seq) {
		m.say(fmt.Sprintf("event %d is too old: it was dropped", seq), true)
	}
}

// power asks what to do to the VM of a subject.
func (m *Model) power(s api.Subject) {
	vm, ok := m.vmOf(s)
	if !ok {
		m.say(fmt.Sprintf("%s %s has no VM, or several; :vm power-off VCENTER/NAME names one", s.Kind, s.Name), true)
		return
	}
	menu := faults.NewPower(api.Subject{Kind: "vm", VCenter: vm.VCenter, Name: vm.Name}, vm)
	menu.Sandbox = m.opts.Name
	m.push(menu, true, nil)
}

// vmOf returns the VM of a subject or of a node. If several have the name it returns none, so that no action hits the wrong one.
func (m *Model) vmOf(s api.Subject) (api.VM, bool) {
	name, vcenter := s.Name, s.VCenter
	if s.Kind == "node" {
		for _, n := range world.Values[api.Node](m.state.World(), world.Node) {
			if n.Name == s.Name {
				name, vcenter = n.VM, n.VCenter
			}
		}
	}
	var found []api.VM
	for _, vm := range world.Values[api.VM](m.state.World(), world.VM) {
		if vm.Name == name && (vcenter == "" || vm.VCenter == vcenter) {
			found = append(found, vm)
		}
	}
	if len(found) != 1 {
		return api.VM{}, false
	}
	return found[0], true
}

// breakIt asks which fault to inject.
func (m *Model) breakIt(s api.Subject) {
	if len(m.kinds) == 0 {
		m.say("the faults of the sandbox are not known yet", true)
		return
	}
	menu := faults.NewMenu(m.kinds, s, m.state)
	menu.Sandbox = m.opts.Name
	m.push(menu, true, nil)
}

// fill asks for the parameters of a fault.
func (m *Model) fill(i intent.Fill) {
	for _, k := range m.kinds {
		if k.Name == i.Kind {
			form := faults.NewForm(k, i.Subject, m.state)
			form.Sandbox, form.ReadOnly = m.opts.Name, m.readOnly
			m.push(form, true, nil)
			return
		}
	}
	m.say(fmt.Sprintf("fault %q not found", i.Kind), true)
}

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
