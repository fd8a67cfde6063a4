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
