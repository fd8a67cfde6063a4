package prompt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
)

// completion is how a line can continue.
type completion struct {
	// start is the byte where the completed word begins.
	start int
	// typed is the word so far, without quotes.
	typed      string
	candidates []candidate
	// command is the command of the line, nil if still open.
	command *command
}

// complete returns the candidates at the end of a line.
func (s source) complete(line string) completion {
	all, open := split(line)
	c := completion{start: len(line)}
	if n := len(all); n > 0 && (open != "" || !strings.HasSuffix(line, " ") || strings.HasSuffix(line, `\ `)) {
		c.start, c.typed = all[n-1].start, all[n-1].text
		all = all[:n-1]
	}
	before := make([]string, len(all))
	for i, w := range all {
		before[i] = w.text
	}
	if len(before) > 0 && before[0] == program {
		before = before[1:]
	}
	var rest []string
	if c.command, rest = find(before); c.command == nil {
		c.candidates = begins(verbs(before, c.typed), c.typed)
		return c
	}
	c.candidates = s.after(c.command, rest, c.typed)
	return c
}

// verbs returns the words that continue a command. Aliases are offered only if the first name does not fit.
func verbs(before []string, typed string) []candidate {
	var first, also []candidate
	add := func(list []candidate, way []string, note string) []candidate {
		n := len(before)
		if len(way) <= n || !slices.Equal(way[:n], before) || slices.ContainsFunc(list, func(c candidate) bool { return c.word == way[n] }) {
			return list
		}
		if len(way) > n+1 {
			note = ""
		}
		return append(list, candidate{way[n], note})
	}
	for _, c := range commands() {
		first = add(first, c.words, c.short)
		for _, way := range c.ways()[1:] {
			also = add(also, way, c.short)
		}
	}
	if len(begins(first, typed)) > 0 {
		return first
	}
	return also
}

// after returns the words that can follow a command with some of its flags and arguments.
func (s source) after(c *command, rest []string, typed string) []candidate {
	g := given{values: map[string][]string{}}
	var wants *flag
	plain := false // after "--"
	for _, w := range rest {
		switch {
		case wants != nil:
			g.values[wants.name] = append(g.values[wants.name], w)
			wants = nil
		case !plain && w == "--":
			plain = true
		case !plain && len(w) > 1 && w[0] == '-':
			name, value, inOne := strings.Cut(w, "=")
			f := c.flag(name)
			if f == nil {
				return nil
			}
			if f.value != nothing && !inOne {
				wants = f
				continue
			}
			g.values[f.name] = append(g.values[f.name], value)
		default:
			g.args = append(g.args, w)
		}
	}
	if wants != nil {
		return begins(s.names(wants.value, g), typed)
	}
	if !plain && strings.HasPrefix(typed, "-") {
		if name, value, inOne := strings.Cut(typed, "="); inOne {
			var all []candidate
			if f := c.flag(name); f != nil {
				for _, v := range begins(s.names(f.value, g), value) {
					all = append(all, candidate{name + "=" + v.word, v.note})
				}
			}
			return all
		}
		var all []candidate
		for _, f := range c.flags {
			if !f.quiet && (!g.has(f.name) || f.value == settings) {
				all = append(all, candidate{"--" + f.name, f.hint})
			}
		}
		return begins(all, typed)
	}
	list := s.names(c.arg(len(g.args)), g)
	return begins(slices.DeleteFunc(list, func(c candidate) bool { return slices.Contains(g.args, c.word) }), typed)
}

// begins returns the candidates with the typed prefix, an equal word first, then those that contain it, in any case.
func begins(all []candidate, typed string) []candidate {
	typed = strings.ToLower(typed)
	var same, first, then []candidate
	for _, c := range all {
		word := strings.ToLower(c.word)
		switch i := strings.Index(word, typed); {
		case word == typed && word != "":
			same = append(same, c)
		case i == 0 && word != "":
			first = append(first, c)
		case i > 0 && !strings.HasPrefix(typed, "-"):
			then = append(then, c)
		}
	}
	return slices.Concat(same, first, then)
}

// check refuses what contradicts the state, and resolves the names of subjects.
func (s source) check(i intent.Intent) (intent.Intent, error) {
	switch v := i.(type) {
	case intent.Inject:
		return i, s.known(v.Fault)
	case intent.Fill:
		return i, s.known(v.Kind)
	}
	return s.resolve(i)
}

// known refuses an unknown fault.
func (s source) known(fault string) error {
	var names []string
	for _, k := range s.kinds {
		if k.Name == fault {
			return nil
		}
		names = append(names, k.Name)
	}
	if len(names) == 0 {
		return nil // they are not known yet
	}
	return errUnknown("fault", fault, nearest.Of(fault, names))
}

// synced reports whether all rows have arrived.
func synced(s *fold.State) bool { return s != nil && s.World().Synced() }

// candidate is a word that continues a line.
type candidate struct {
	word string
	// note describes it.
	note string
}

// source has the names for completion: those of the state, and the catalogue.
type source struct {
	state *fold.State
	kinds []api.FaultKind
}

// names returns the names of a kind. about is the line so far, for kinds that depend on it.
func (s source) names(k kind, about given) []candidate {
	switch k {
	case roles:
		return words("control-plane", "worker")
	case modes:
		return words("one", "all", "50%")
	case faults:
		var all []candidate
		for _, f := range s.kinds {
			all = append(all, candidate{f.Name, f.Short})
		}
		return all
	case targets, settings:
		if f := s.fault(about); f != nil && k == targets {
			return s.names(object(f.Object), about)
		} else if f != nil {
			return params(f)
		}
		return nil
	}
	if s.state == nil {
		return nil
	}
	return s.live(k)
}

// live returns the names of existing objects.
func (s source) live(k kind) []candidate {
	w := s.state.World()
	switch k {
	case vms:
		return scoped(world.Values[api.VM](w, world.VM), func(v api.VM) (vcenter, name string) { return v.VCenter, v.Name })
	case hosts:
		return scoped(world.Values[api.Host](w, world.Host), func(h api.Host) (vcenter, name string) { return h.VCenter, h.Name })
	case nodes:
		return of(w, world.Node, func(n api.Node) string {
			if !n.Registered {
				return ""
			}
			return n.Name
		})
	case vcenters:
		return of(w, world.VCenter, func(v api.VCenter) string { return v.Name })
	case components:
		return of(w, world.Component, func(c api.Component) string { return c.Name })
	case datastores:
		return of(w, world.Volume, func(v api.Volume) string { return v.Datastore })
	case datacenters:
		return of(w, world.Host, func(h api.Host) string { return h.Datacenter })
	case clusters:
		return of(w, world.Host, func(h api.Host) string { return h.Cluster })
	case regions:
		return of(w, world.VM, func(v api.VM) string { return v.Region })
	case zones:
		return of(w, world.VM, func(v api.VM) string { return v.Zone })
	case volumes:
		return of(w, world.Volume, func(v api.Volume) string {
			if v.Claim != "" {
				return strings.TrimPrefix(v.Claim, "default/")
			}
			return v.Name
		})
	case services:
		return of(w, world.Service, func(v api.Service) string { return strings.TrimPrefix(v.Name, "default/") })
	case leases:
		var all []candidate
		for _, l := range world.Values[api.Lease](w, world.Lease) {
			if l.State != "healed" {
				all = append(all, candidate{l.ID, l.Fault})
			}
		}
		return all
	}
	return nil
}

// fault returns the fault of the line.
func (s source) fault(about given) *api.FaultKind {
	if len(about.args) == 0 {
		return nil
	}
	i := slices.IndexFunc(s.kinds, func(f api.FaultKind) bool { return f.Name == about.args[0] })
	if i < 0 {
		return nil
	}
	return &s.kinds[i]
}

// object returns the kind of name of a fault's targets.
func object(o string) kind {
	return map[string]kind{
		"vm": vms, "node": nodes, "host": hosts, "zone": zones, "datacenter": datacenters, "cluster": clusters,
		"vcenter": vcenters, "component": components, "volume": volumes, "datastore": datastores,
	}[strings.ToLower(o)]
}

// params returns the parameters of a fault: NAME=, and NAME=VALUE if there are few values.
func params(f *api.FaultKind) []candidate {
	var all []candidate
	for _, p := range f.Params {
		all = append(all, candidate{p.Name + "=", p.Short})
		choices := p.Choices
		if p.Type == "bool" {
			choices = []string{"true", "false"}
		}
		for _, c := range choices {
			all = append(all, candidate{p.Name + "=" + c, p.Short})
		}
	}
	return all
}

func words(all ...string) []candidate {
	list := make([]candidate, len(all))
	for i, w := range all {
		list[i].word = w
	}
	return list
}

// of returns one name of each row, without duplicates.
func of[T any](w *world.World, k world.Kind, name func(T) string) []candidate {
	var all []candidate
	seen := map[string]bool{"": true}
	for _, v := range world.Values[T](w, k) {
		if n := name(v); !seen[n] {
			seen[n], all = true, append(all, candidate{word: n})
		}
	}
	return all
}

// scoped returns the names of objects of vCenters; ambiguous ones are prefixed with their vCenter.
func scoped[T any](rows []T, name func(T) (vcenter, name string)) []candidate {
	count := map[string]int{}
	for _, r := range rows {
		_, n := name(r)
		count[n]++
	}
	var all []candidate
	for _, r := range rows {
		vc, n := name(r)
		if count[n] > 1 {
			n = vc + "/" + n
		}
		all = append(all, candidate{word: n, note: "vCenter " + vc})
	}
	return all
}

// resolve gives intents about an object the name and the vCenter of its row. Deleted objects can still be explained.
func (s source) resolve(i intent.Intent) (intent.Intent, error) {
	switch v := i.(type) {
	case intent.Why:
		if found, err := s.subject(v.Subject); err == nil {
			v.Subject = found
		}
		return v, nil
	case intent.Details:
		found, err := s.subject(v.Subject)
		return intent.Details{Subject: found}, err
	case intent.Focus:
		found, err := s.subject(v.Subject)
		return intent.Focus{Subject: found}, err
	case intent.Logs:
		if v.Component == "" {
			return v, nil
		}
		return s.component(v.Component)
	}
	return i, nil
}

// own removes the name of the sandbox from lines that were pasted. It refuses lines for another sandbox.
func (s source) own(words []string) ([]string, error) {
	if len(words) < 2 || words[0] != program || !strings.HasPrefix(words[1], "--name") {
		return words, nil
	}
	name, rest := "", words[2:]
	if _, value, ok := strings.Cut(words[1], "="); ok {
		name = value
	} else if len(rest) > 0 {
		name, rest = rest[0], rest[1:]
	}
	if s.state == nil || name != s.state.About().Sandbox {
		return nil, fmt.Errorf("this is not sandbox %q", name)
	}
	return append([]string{program}, rest...), nil
}

// subject returns an object by any of its names.
func (s source) subject(as api.Subject) (api.Subject, error) {
	if !synced(s.state) {
		return as, nil
	}
	var found []api.Subject
	var names []string
	for _, row := range s.state.World().Rows(world.Kind(as.Kind)) {
		one := subjectOf(row)
		if as.VCenter != "" && one.VCenter != as.VCenter {
			continue
		}
		if slices.Contains(row.Names(), as.Name) {
			found = append(found, one)
		}
		names = append(names, row.Names()...)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return as, errUnknown(as.Kind, as.Name, nearest.Of(as.Name, names))
	}
	var which []string
	for _, one := range found {
		which = append(which, strings.TrimPrefix(one.VCenter+"/"+one.Name, "/"))
	}
	return as, fmt.Errorf("several are called %q: %s", as.Name, strings.Join(which, ", "))
}

// subjectOf returns the subject of a row.
func subjectOf(row world.Row) api.Subject {
	s := api.Subject{Kind: string(row.Kind), Name: row.Key}
	switch v := row.Value.(type) {
	case api.VM:
		s.VCenter, s.Name = v.VCenter, v.Name
	case api.Host:
		s.VCenter, s.Name = v.VCenter, v.Name
	}
	return s
}

// component returns a component by its name or the last part of it, as "logs" does. One without a row may still have a log.
func (s source) component(name string) (intent.Intent, error) {
	as := intent.Logs{Component: name}
	if s.state == nil {
		return as, nil
	}
	var short []string
	for _, row := range s.state.World().Rows(world.Component) {
		if row.Name == name {
			return as, nil
		}
		if strings.HasSuffix(row.Name, "/"+name) {
			short = append(short, row.Name)
		}
	}
	switch len(short) {
	case 0:
		return as, nil
	case 1:
		return intent.Logs{Component: short[0]}, nil
	}
	return as, fmt.Errorf("several components are called %q: %s", name, strings.Join(short, ", "))
}

func errUnknown(kind, name, guess string) error {
	return fmt.Errorf("%s %q not found%s", kind, name, meant(guess))
}
