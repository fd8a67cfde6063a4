package prompt

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
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
