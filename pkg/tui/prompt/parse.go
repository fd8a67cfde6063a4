package prompt

import (
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
)

// program may stand before a command: lines are pasted from shells and tutorials.
const program = "vsphere-sandbox"

// Parse reads a command. An empty line is no intent and no error. Names are taken as they are: whether there is such a
// thing is for whoever carries the intent out.
func Parse(line string) (intent.Intent, error) {
	words, err := texts(line)
	if err != nil {
		return nil, err
	}
	return parse(words)
}

// parse reads the words of a command.
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

// read takes flags and arguments apart, as the command line does: flags anywhere, until "--".
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

// unknown is the error for a line that begins with no command.
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
		return fmt.Errorf("there is no command %q%s", words[0], meant(nearest.Of(words[0], first)))
	case len(words) == 1:
		return fmt.Errorf("%s needs one of: %s", words[0], strings.Join(unique(second), ", "))
	}
	guess := nearest.Of(words[1], second)
	if guess != "" {
		guess = words[0] + " " + guess
	}
	return fmt.Errorf("there is no command %q%s", words[0]+" "+words[1], meant(guess))
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
