package prompt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
)

// program may precede a command: lines are pasted from shells and tutorials.
const program = "vsphere-sandbox"

// Parse parses a command. An empty line is no intent and no error. It does not check names: the receiver of the intent does.
func Parse(line string) (intent.Intent, error) {
	words, err := texts(line)
	if err != nil {
		return nil, err
	}
	return parse(words)
}

// parse parses the words of a command.
func parse(words []string) (intent.Intent, error) {
	if len(words) > 0 && words[0] == program {
		words = words[1:]
	}
	if len(words) == 0 {
		return nil, nil
	}
	c, rest := find(words)
	if c == nil {
		return nil, unknown(words)
	}
	g, err := c.read(rest)
	if err != nil {
		return nil, err
	}
	return c.make(g)
}

// read separates flags and arguments, as the command line does: flags anywhere, until "--".
func (c *command) read(words []string) (given, error) {
	g := given{values: map[string][]string{}}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w == "--" {
			g.args = append(g.args, words[i+1:]...)
			break
		}
		if len(w) < 2 || w[0] != '-' {
			g.args = append(g.args, w)
			continue
		}
		name, value, inOne := strings.Cut(w, "=")
		f := c.flag(name)
		switch {
		case f == nil:
			return g, c.unknownFlag(name)
		case f.value == nothing && inOne:
			return g, fmt.Errorf("--%s takes no value", f.name)
		case f.value != nothing && !inOne:
			if i++; i == len(words) {
				return g, fmt.Errorf("--%s needs a value: --%[1]s %s", f.name, f.hint)
			}
			value = words[i]
		}
		g.values[f.name] = append(g.values[f.name], value)
	}
	switch n := len(g.args); {
	case n < c.least:
		return g, fmt.Errorf("%s needs a %s", c.name(), strings.TrimSuffix(strings.Fields(c.hint)[0], "..."))
	case c.most >= 0 && n > c.most:
		return g, fmt.Errorf("%s does not understand %q", c.name(), g.args[c.most])
	}
	return g, nil
}

func (c *command) unknownFlag(name string) error {
	var names []string
	for _, f := range c.flags {
		names = append(names, "--"+f.name)
	}
	return fmt.Errorf("%s has no flag %s%s", c.name(), name, meant(nearest.Of(name, names)))
}

// unknown returns the error for a line without a known command.
func unknown(words []string) error {
	var first, second []string
	for _, c := range commands() {
		for _, way := range c.ways() {
			first = append(first, way[0])
			if len(way) > 1 && way[0] == words[0] {
				second = append(second, way[1])
			}
		}
	}
	switch {
	case len(second) == 0:
		return fmt.Errorf("unknown command %q%s", words[0], meant(nearest.Of(words[0], first)))
	case len(words) == 1:
		return fmt.Errorf("%s needs one of: %s", words[0], strings.Join(unique(second), ", "))
	}
	guess := nearest.Of(words[1], second)
	if guess != "" {
		guess = words[0] + " " + guess
	}
	return fmt.Errorf("unknown command %q%s", words[0]+" "+words[1], meant(guess))
}

func meant(guess string) string {
	if guess == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", guess)
}

func unique(words []string) (all []string) {
	seen := map[string]bool{}
	for _, w := range words {
		if !seen[w] {
			seen[w], all = true, append(all, w)
		}
	}
	return all
}

// word is a word of a line, without its quotes.
type word struct {
	text string
	// start is its first byte in the line, including a quote.
	start int
}

// split splits a line into words as a POSIX shell does, without expansion. open is an unclosed quote; the last word is then
// incomplete.
func split(line string) (words []word, open string) {
	var b strings.Builder
	in, quote := false, byte(0)
	begin := func(i int) {
		if !in {
			in = true
			words = append(words, word{start: i})
		}
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == 0 && (c == ' ' || c == '\t'):
			if in {
				words[len(words)-1].text = b.String()
			}
			in = false
			b.Reset()
			continue
		case quote == c:
			quote = 0
			continue
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
			begin(i)
			continue
		case c == '\\' && quote != '\'' && i+1 < len(line) && (quote == 0 || strings.IndexByte(`"\$`+"`", line[i+1]) >= 0):
			begin(i)
			i++
			c = line[i]
		default:
			begin(i)
		}
		b.WriteByte(c)
	}
	if in {
		words[len(words)-1].text = b.String()
	}
	if quote != 0 {
		open = string(quote)
	}
	return words, open
}

// texts returns the words of a line; quotes must be closed.
func texts(line string) ([]string, error) {
	words, open := split(line)
	if open != "" {
		return nil, fmt.Errorf("the quote %s is not closed", open)
	}
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = w.text
	}
	return all, nil
}

// kind is the kind of name in a word, for completion.
type kind int

const (
	nothing kind = iota
	vms
	nodes
	hosts
	vcenters
	volumes
	services
	datastores
	datacenters
	clusters
	regions
	zones
	roles
	modes
	leases
	components
	faults
	targets  // what the fault of the line happens to
	settings // its parameters
	free     // anything
)

// command is a command of the prompt.
type command struct {
	// words are its name; also are aliases.
	words []string
	also  []string
	// short describes it.
	short string
	// args are its arguments in order; the last one may repeat. hint is their form in the usage.
	args        []kind
	least, most int // how many; most < 0 is any number
	hint        string
	flags       []flag
	make        func(given) (intent.Intent, error)
}

// flag is a flag of a command.
type flag struct {
	name, short string
	// value is the kind of its value; empty for a flag without a value.
	value kind
	hint  string
	// quiet flags are accepted, and not offered: they have no effect here.
	quiet bool
}

// given is the input of a command.
type given struct {
	args   []string
	values map[string][]string // by flag; a flag without value has ""
}

// of returns the value of a flag: the last one counts.
func (g given) of(name string) string {
	if all := g.values[name]; len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

func (g given) has(name string) bool { return g.values[name] != nil }

func (c *command) name() string { return strings.Join(c.words, " ") }

// ways returns all names of the command, as words.
func (c *command) ways() [][]string {
	all := [][]string{c.words}
	for _, way := range c.also {
		all = append(all, strings.Fields(way))
	}
	return all
}

// arg returns the kind of the nth argument.
func (c *command) arg(n int) kind {
	if len(c.args) == 0 || c.most >= 0 && n >= c.most {
		return nothing
	}
	return c.args[min(n, len(c.args)-1)]
}

func (c *command) flag(name string) *flag {
	i := slices.IndexFunc(c.flags, func(f flag) bool { return "--"+f.name == name || f.short != "" && "-"+f.short == name })
	if i < 0 {
		return nil
	}
	return &c.flags[i]
}

// usage returns the usage: "vm move VM... --to HOST [--vcenter VCENTER]".
func (c *command) usage() string {
	parts := []string{c.name()}
	if c.hint != "" {
		parts = append(parts, c.hint)
	}
	for _, f := range c.flags {
		if f.quiet {
			continue
		}
		s := "--" + f.name
		if f.value != nothing {
			s += " " + f.hint
		}
		parts = append(parts, "["+s+"]")
	}
	return strings.Join(parts, " ")
}

// find returns the command of a line, and the rest.
func find(words []string) (c *command, rest []string) {
	all := commands()
	for i := range all {
		for _, way := range all[i].ways() {
			if len(way) <= len(words) && slices.Equal(way, words[:len(way)]) {
				return &all[i], words[len(way):]
			}
		}
	}
	return nil, nil
}

// subjectCommands go to an object, show it on both planes, or explain it.
func subjectCommands() []command {
	scoped := []flag{{name: "vcenter", value: vcenters, hint: "VCENTER"}}
	var all []command
	for _, s := range []struct {
		kind, plural, short string
		names               kind
		scoped              bool
		explained           bool
	}{
		{"node", "nodes", "no", nodes, false, true},
		{"vm", "vms", "", vms, true, true},
		{"volume", "volumes", "vol", volumes, false, true},
		{"service", "services", "svc", services, false, true},
		{"host", "hosts", "", hosts, true, false},
		{"vcenter", "vcenters", "vc", vcenters, false, false},
		{"component", "components", "", components, false, false},
	} {
		c := command{args: []kind{s.names}, least: 1, most: 1, hint: strings.ToUpper(s.kind)}
		if s.scoped {
			c.flags = scoped
		}
		if s.explained {
			c.words, c.also, c.short = []string{"explain", s.kind}, []string{"why " + s.kind}, "how it has come to be as it is"
			c.make = about(s.kind, func(s api.Subject) intent.Intent { return intent.Why{Subject: s} })
			all = append(all, c)
		}
		if s.kind != "service" { // NSX is on neither plane
			c.words, c.also, c.short = []string{"details", s.kind}, []string{"describe " + s.kind, "inspect " + s.kind}, "on both planes"
			c.make = about(s.kind, func(s api.Subject) intent.Intent { return intent.Details{Subject: s} })
			all = append(all, c)
		}
		if s.kind == "component" {
			continue // it is on no screen
		}
		c.words, c.also, c.short = []string{"get", s.plural}, []string{"get " + s.kind}, "go to one, or to all"
		if s.short != "" {
			c.also = append(c.also, "get "+s.short)
		}
		c.least, c.hint = 0, "["+c.hint+"]"
		c.make = about(s.kind, func(on api.Subject) intent.Intent {
			switch {
			case on.Name != "":
				return intent.Focus{Subject: on}
			case on.Kind == "volume":
				return intent.Go{Screen: intent.Volumes}
			case on.Kind == "service":
				return intent.Go{Screen: intent.Services}
			}
			return intent.Go{Screen: intent.Overview}
		})
		all = append(all, c)
	}
	return append(all,
		plain("go to both planes", intent.Go{Screen: intent.Overview}, "get zones", "get datacenters"),
		plain("go to the volumes", intent.Go{Screen: intent.Volumes}, "get datastores"),
	)
}

// about returns an intent for the named object.
func about(kind string, f func(api.Subject) intent.Intent) func(given) (intent.Intent, error) {
	return func(g given) (intent.Intent, error) {
		s := api.Subject{Kind: kind, VCenter: g.of("vcenter")}
		if len(g.args) > 0 {
			s.Name = g.args[0]
		}
		return f(s), nil
	}
}
