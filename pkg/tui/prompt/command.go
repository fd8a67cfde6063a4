package prompt

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
)

// kind is what a word of a command names: what it is completed with.
type kind int

const (
	nothing kind = iota
	vms
	nodes
	hosts
	vcenters
	volumes
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

// command is a command that can be typed.
type command struct {
	// words call it; also are other ways to.
	words []string
	also  []string
	// short says what it does.
	short string
	// args are what follows, by their place; the last stands for all after it. hint is how the usage has them.
	args        []kind
	least, most int // how many; most < 0 is any number
	hint        string
	flags       []flag
	make        func(given) (intent.Intent, error)
}

// flag is a flag of a command.
type flag struct {
	name, short string
	// value is what it names; nothing for a flag that takes no value.
	value kind
	hint  string
	// quiet flags are taken, and not offered: they make no difference here.
	quiet bool
}

// given is what a line gives a command.
type given struct {
	args   []string
	values map[string][]string // by flag; a flag without value has ""
}

// of is the last value of a flag: as on the command line, that is the one that counts.
func (g given) of(name string) string {
	if all := g.values[name]; len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

func (g given) has(name string) bool { return g.values[name] != nil }

func (c *command) name() string { return strings.Join(c.words, " ") }

// ways are all ways to call it, each in words.
func (c *command) ways() [][]string {
	all := [][]string{c.words}
	for _, way := range c.also {
		all = append(all, strings.Fields(way))
	}
	return all
}

// arg is what the nth argument names.
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

// usage is how it is written: "vm move VM... --to HOST [--vcenter VCENTER]".
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

// find finds the command that a line begins with, and what follows it.
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
