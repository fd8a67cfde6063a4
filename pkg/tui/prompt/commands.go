package prompt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// commands are all commands, in the order of completion.
func commands() []command {
	return slices.Concat(screenCommands(), vmCommands(), vcenterCommands(), volumeCommands(), faultCommands(), snapshotCommands(), subjectCommands(), otherCommands())
}

// plain is a command without arguments and a fixed intent.
func plain(short string, i intent.Intent, word string, also ...string) command {
	return command{words: fields(word), also: also, short: short, make: func(given) (intent.Intent, error) { return i, nil }}
}

func screenCommands() []command {
	return []command{
		plain("both planes, row by row", intent.Go{Screen: intent.Overview}, "overview", "ov", "nodes", "no", "vms", "hosts", "vcenters", "status"),
		plain("what happened, with causes", intent.Go{Screen: intent.Timeline}, "timeline", "tl", "events", "ev"),
		plain("where Services answer", intent.Go{Screen: intent.Services}, "services", "svc"),
		plain("from claim to disk", intent.Go{Screen: intent.Volumes}, "volumes", "vol", "pvc", "pv"),
		plain("what can be broken, and what is", intent.Go{Screen: intent.Faults}, "faults", "leases", "fault list", "fault leases"),
		plain("calls of the vSphere API", intent.Go{Screen: intent.Calls}, "calls", "api"),
		plain("the scenario that runs", intent.Go{Screen: intent.Scenario}, "scenario", "sc"),
	}
}

func vmCommands() []command {
	var all []command
	for _, a := range []struct {
		action api.VMAction
		short  string
		flags  []flag
	}{
		{api.PowerOff, "power off, as pulling the plug does", nil},
		{api.PowerOn, "power on, or resume", nil},
		{api.Suspend, "suspend; power-on resumes", nil},
		{api.Reset, "reset, as the button does", nil},
		{api.Hang, "hang the guest, where vSphere does not see it", nil},
		{api.Move, "move to another host", []flag{{name: "to", value: hosts, hint: "HOST"}}},
		{api.Destroy, "power off and destroy", []flag{{name: "yes", short: "y", quiet: true}}},
	} {
		all = append(all, command{
			words: []string{"vm", string(a.action)}, short: a.short, args: []kind{vms}, least: 1, most: -1, hint: "VM...",
			flags: append(a.flags, flag{name: "vcenter", value: vcenters, hint: "VCENTER"}),
			make:  func(g given) (intent.Intent, error) { return vmAction(a.action, g) },
		})
	}
	return all
}

func vcenterCommands() []command {
	var all []command
	for _, a := range []struct{ verb, mode, short string }{
		{"up", "up", "answer as it should"},
		{"down", "down", "refuse connections"},
		{"slow", "slow", "answer each call late"},
		{"hang", "hung", "take calls and never answer"},
	} {
		c := command{
			words: []string{"vcenter", a.verb}, also: []string{"vc " + a.verb}, short: a.short, args: []kind{vcenters}, least: 1, most: -1,
			hint: "VCENTER...", make: func(g given) (intent.Intent, error) { return gateAction(a.mode, g) },
		}
		if a.mode == "slow" {
			c.flags = []flag{{name: "delay", value: free, hint: "DELAY"}}
		}
		all = append(all, c)
	}
	return all
}

func volumeCommands() []command {
	return []command{
		{
			words: []string{"volume", "detach"}, short: "take the disk off its VM, behind Kubernetes' back", args: []kind{volumes},
			least: 1, most: -1, hint: "VOLUME...", make: func(g given) (intent.Intent, error) { return volumeAction(api.DetachVolume, g) },
		},
		{
			words: []string{"volume", "relocate"}, short: "move to another datastore", args: []kind{volumes}, least: 1, most: -1,
			hint: "VOLUME...", flags: []flag{{name: "to", value: datastores, hint: "DATASTORE"}},
			make: func(g given) (intent.Intent, error) { return volumeAction(api.RelocateVolume, g) },
		},
		{
			words: []string{"taint", "out-of-service"}, short: "say that a node is out of service", args: []kind{nodes}, least: 1, most: -1,
			hint: "NODE...", flags: []flag{{name: "remove"}}, make: outOfService,
		},
		plain("end the CCM in order and start it again", intent.RestartCCM{}, "ccm restart"),
	}
}

func faultCommands() []command {
	return []command{
		{
			words: []string{"fault", "inject"}, also: []string{"inject"}, short: "break something", args: []kind{faults, targets}, least: 1,
			most: -1, hint: "FAULT [TARGET]...", make: inject,
			flags: []flag{
				{name: "for", value: free, hint: "TIME"},
				{name: "set", value: settings, hint: "NAME=VALUE"},
				{name: "mode", value: modes, hint: "MODE"},
				{name: "vcenter", value: vcenters, hint: "VCENTER"},
				{name: "datacenter", value: datacenters, hint: "DATACENTER"},
				{name: "cluster", value: clusters, hint: "CLUSTER"},
				{name: "host", value: hosts, hint: "HOST"},
				{name: "region", value: regions, hint: "REGION"},
				{name: "zone", value: zones, hint: "ZONE"},
				{name: "role", value: roles, hint: "ROLE"},
				{name: "selector", short: "l", value: free, hint: "LABELS"},
				{name: "seed", value: free, hint: "N"},
				{name: "dry-run"},
			},
		},
		{
			words: []string{"fault", "heal"}, also: []string{"heal"}, short: "put right what is broken", args: []kind{leases}, most: -1,
			hint: "LEASE...", flags: []flag{{name: "all"}}, make: heal,
		},
		{
			words: []string{"fault", "describe"}, short: "what a fault is, and its form", args: []kind{faults}, least: 1, most: 1, hint: "FAULT",
			make: func(g given) (intent.Intent, error) { return intent.Fill{Kind: g.args[0]}, nil },
		},
	}
}

func snapshotCommands() []command {
	return []command{
		{
			words: []string{"snapshot", "save"}, short: "save the state of the sandbox", args: []kind{free}, least: 1, most: 1, hint: "NAME",
			flags: []flag{{name: "force"}},
			make: func(g given) (intent.Intent, error) {
				return intent.SaveSnapshot{SaveRequest: api.SaveRequest{Name: g.args[0], Replace: g.has("force")}}, nil
			},
		},
		{
			words: []string{"snapshot", "restore"}, short: "go back to a saved state", args: []kind{free}, least: 1, most: 1, hint: "NAME",
			make: func(g given) (intent.Intent, error) { return intent.RestoreSnapshot{Name: g.args[0]}, nil },
		},
	}
}

func otherCommands() []command {
	return []command{
		{
			words: []string{"logs"}, also: []string{"log"}, short: "the log of a component", args: []kind{components}, most: 1, hint: "[COMPONENT]",
			flags: []flag{{name: "follow", short: "f", quiet: true}, {name: "tail", value: free, quiet: true}},
			make: func(g given) (intent.Intent, error) {
				if len(g.args) == 0 {
					return intent.Logs{}, nil
				}
				return intent.Logs{Component: g.args[0]}, nil
			},
		},
		{
			words: []string{"chain"}, also: []string{"event"}, short: "what an event comes from and leads to", args: []kind{free}, least: 1, most: 1, hint: "NUMBER", make: chain,
		},
		{
			words: []string{"filter"}, short: "filter the screen; without words, all of it", args: []kind{free}, most: -1, hint: "[WORD]...",
			make: func(g given) (intent.Intent, error) { return intent.Filter{Text: join(g.args)}, nil },
		},
		plain("turn read-only mode on or off", intent.ReadOnly{}, "readonly", "read-only", "ro"),
		plain("all keys", intent.Help{}, "help", "h", "?"),
		plain("leave", intent.Quit{}, "quit", "q", "q!", "exit"),
	}
}

func fields(s string) []string { return strings.Fields(s) }

func join(words []string) string { return strings.Join(words, " ") }

func vmAction(action api.VMAction, g given) (intent.Intent, error) {
	if action == api.Move && g.of("to") == "" {
		return nil, fmt.Errorf("vm move needs --to HOST")
	}
	return intent.Each(g.args, func(name string) intent.Named {
		return intent.VM{VMRequest: api.VMRequest{Action: action, VM: name, VCenter: g.of("vcenter"), Host: g.of("to")}}
	}), nil
}

func gateAction(mode string, g given) (intent.Intent, error) {
	var delay time.Duration
	if mode == "slow" {
		delay = intent.DefaultDelay
	}
	if g.has("delay") {
		var err error
		if delay, err = time.ParseDuration(g.of("delay")); err != nil || delay <= 0 {
			return nil, fmt.Errorf("--delay %s is not a delay like 250ms", g.of("delay"))
		}
	}
	return intent.Each(g.args, func(name string) intent.Named {
		return intent.Gate{GateRequest: api.GateRequest{VCenter: name, Mode: mode, Delay: api.Duration(delay)}}
	}), nil
}

func volumeAction(action api.VolumeAction, g given) (intent.Intent, error) {
	if action == api.RelocateVolume && g.of("to") == "" {
		return nil, fmt.Errorf("volume relocate needs --to DATASTORE")
	}
	return intent.Each(g.args, func(name string) intent.Named {
		return intent.Volume{VolumeRequest: api.VolumeRequest{Action: action, Volume: name, Datastore: g.of("to")}}
	}), nil
}

func outOfService(g given) (intent.Intent, error) {
	return intent.Each(g.args, func(name string) intent.Named {
		return intent.OutOfService{OutOfServiceRequest: api.OutOfServiceRequest{Node: name, Remove: g.has("remove")}}
	}), nil
}

func heal(g given) (intent.Intent, error) {
	switch all := g.has("all"); {
	case all && len(g.args) > 0:
		return nil, fmt.Errorf("heal takes leases or --all, not both")
	case !all && len(g.args) == 0:
		return nil, fmt.Errorf("heal needs a LEASE, or --all")
	case all:
		return intent.Heal{HealRequest: api.HealRequest{All: true}}, nil
	}
	return intent.Heal{HealRequest: api.HealRequest{IDs: g.args}}, nil
}

func inject(g given) (intent.Intent, error) {
	r := api.InjectRequest{
		Fault: g.args[0], Mode: g.of("mode"), DryRun: g.has("dry-run"),
		On: api.Selector{
			VCenter: g.of("vcenter"), Datacenter: g.of("datacenter"), Cluster: g.of("cluster"), Host: g.of("host"),
			Region: g.of("region"), Zone: g.of("zone"), Role: g.of("role"), Labels: g.of("selector"),
		},
	}
	if len(g.args) > 1 {
		r.On.Names = slices.Clone(g.args[1:])
	}
	for _, s := range g.values["set"] {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--set %q is not NAME=VALUE", s)
		}
		if _, twice := r.Params[name]; twice {
			return nil, fmt.Errorf("--set %s is there twice", name)
		}
		if r.Params == nil {
			r.Params = map[string]string{}
		}
		r.Params[name] = value
	}
	if g.has("for") {
		d, err := time.ParseDuration(g.of("for"))
		if err != nil || d < 0 {
			return nil, fmt.Errorf("--for %s is not a time like 30s or 5m", g.of("for"))
		}
		r.For = api.Duration(d)
	}
	if g.has("seed") {
		n, err := strconv.ParseUint(g.of("seed"), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("--seed %s is not a number", g.of("seed"))
		}
		r.Seed = n
	}
	return intent.Inject{InjectRequest: r}, nil
}

func chain(g given) (intent.Intent, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(g.args[0], "#"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is not the number of an event", g.args[0])
	}
	return intent.Chain{Seq: n}, nil
}

const (
	// gap is the space between the input and the text beside it.
	gap = 3
	// least is the minimum width of the visible input.
	least = 10
)

// View returns the line, exactly width cells wide: the input, its completion, and beside it the candidates, the usage or an
// error.
func (m *Model) View(width int) string {
	if width <= 0 {
		return ""
	}
	room := m.room(width)
	typed, _ := m.window(room)
	ghost := text.Cut(text.Clean(m.ghost()), room-text.Width(typed))
	sign := ":"
	if m.filters {
		sign = "/"
	}
	line := m.theme.Prompt.Render(sign + typed)
	if ghost != "" {
		line += m.theme.Dim.Render(ghost)
	}
	used := 1 + text.Width(typed) + text.Width(ghost)
	if left := width - used - gap; left >= 8 || m.err != "" && left > 0 {
		line += strings.Repeat(" ", gap) + m.beside(left)
	}
	return text.Fit(line, width)
}

// Error returns the error of the command, if the view of a width does not show it in full.
func (m *Model) Error(width int) string {
	if m.err == "" || text.Width(theme.GlyphBad+" "+m.err) <= width-1-gap-text.Width(text.Clean(m.edit.String())) || text.Width(m.err)+2+gap+least <= width-1 {
		return ""
	}
	return m.err
}

// Cursor returns the cell of the cursor in the view.
func (m *Model) Cursor(width int) int {
	_, at := m.window(m.room(width))
	return min(1+at, max(0, width-1))
}

// room returns the cells for the input: an error has priority.
func (m *Model) room(width int) int {
	room := width - 1
	if m.err != "" {
		room = max(least, room-text.Width(m.err)-2-gap)
	}
	return max(1, min(room, width-1))
}

// window returns the visible part of the input, and its cell with the cursor.
func (m *Model) window(room int) (typed string, cursor int) {
	from := 0
	for text.Width(string(m.edit.Runes[from:m.edit.At])) >= room {
		from++
	}
	before := text.Clean(string(m.edit.Runes[from:m.edit.At]))
	all := before + text.Clean(string(m.edit.Runes[m.edit.At:]))
	return text.Cut(all, room), text.Width(before)
}

// beside returns the text beside the input.
func (m *Model) beside(room int) string {
	switch {
	case m.err != "":
		return m.theme.Bad.Render(text.Cut(theme.GlyphBad+" "+m.err, room))
	case m.filters:
		return m.theme.Dim.Render(text.Cut("all words, in any case; enter keeps it, esc takes it away", room))
	case m.cycle != nil:
		return m.offers(m.cycle.candidates, m.cycle.at, room)
	}
	line := string(m.edit.Runes[:m.edit.At])
	c := m.complete(line)
	if len(c.candidates) == 1 {
		switch only := c.candidates[0]; {
		case only.note != "":
			return m.theme.Dim.Render(text.Cut(text.Clean(only.note), room))
		case only.word == c.typed && c.command == nil: // a group of commands
			c = m.source.complete(line + " ")
		}
	}
	if len(c.candidates) > 0 {
		return m.offers(c.candidates, -1, room)
	}
	if c.command != nil {
		return m.theme.Dim.Render(text.Cut(c.command.usage(), room))
	}
	return ""
}

// offers lists the page of candidates with the chosen one.
func (m *Model) offers(all []candidate, chosen, room int) string {
	from := 0
	for {
		line, last := m.page(all, from, chosen, room)
		if chosen <= last || last < from {
			return line
		}
		from = last + 1
	}
}

// page lists candidates from one on, and returns the last that there is room for.
func (m *Model) page(all []candidate, from, chosen, room int) (line string, last int) {
	var b strings.Builder
	used := 0
	last = from - 1
	for i := from; i < len(all); i++ {
		word := text.Clean(intent.Quote(all[i].word))
		more := 0
		if i+1 < len(all) {
			more = 2 // " …"
		}
		need := text.Width(word)
		if i > from {
			need += 2
		}
		if used+need+more > room {
			if i == from {
				word, last = text.Cut(word, room-more), i
				b.WriteString(m.theme.Dim.Render(word))
			}
			b.WriteString(m.theme.Dim.Render(" …"))
			break
		}
		if i > from {
			b.WriteString("  ")
		}
		style := m.theme.Dim
		if i == chosen {
			style = m.theme.Selected
		}
		b.WriteString(style.Render(word))
		used, last = used+need, i
	}
	return b.String(), last
}
