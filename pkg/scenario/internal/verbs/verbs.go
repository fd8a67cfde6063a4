package verbs

import (
	"fmt"
	"slices"
	"strings"
)

// Beyond returns what a command of a scenario may do beyond reading its sandbox, in words that follow "it"; "" if it is known to
// do no more.
func Beyond(argv []string) string {
	if len(argv) == 0 {
		return ""
	}
	// This program contains the others.
	if len(argv) > 1 && argv[0] == own && (argv[1] == "kubectl" || argv[1] == "govc") {
		argv = argv[1:]
	}
	p, known := programs()[argv[0]]
	if !known {
		return fmt.Sprintf("runs the program %s", argv[0])
	}
	if p.reads(argv[1:]) {
		return ""
	}
	return describe(argv)
}

// reads reports whether arguments are one of the commands, with allowed flags.
func (p program) reads(args []string) bool {
	for {
		_, rest, ok := p.flag(args, p.before, "")
		if !ok {
			break
		}
		args = rest
	}
	return slices.ContainsFunc(p.verbs, func(v verb) bool {
		words := strings.Fields(v.words)
		return len(args) >= len(words) && slices.Equal(args[:len(words)], words) && p.harmless(v, args[len(words):])
	})
}

// harmless reports whether the words after a verb are arguments and allowed flags.
func (p program) harmless(v verb, args []string) bool {
	for len(args) > 0 {
		if !strings.HasPrefix(args[0], "-") {
			if v.bare {
				return false
			}
			args = args[1:]
			continue
		}
		used, rest, ok := p.flag(args, v.values, v.switches)
		if !ok || (used.name == "o" || used.name == "output") && !p.single && !output(used.value) {
			return false
		}
		args = rest
	}
	return true
}

// given is a flag with its value.
type given struct{ name, value string }

// flag removes an allowed flag from the beginning of arguments. A word with a dash is never its value: a program that parses the
// flag differently would take that word for a flag.
func (p program) flag(args []string, values, switches string) (used given, rest []string, ok bool) {
	if len(args) == 0 {
		return used, nil, false
	}
	text, long := strings.CutPrefix(args[0], "--")
	if !long {
		if text, ok = strings.CutPrefix(args[0], "-"); !ok || text == "" {
			return used, nil, false
		}
	}
	name, value, assigned := strings.Cut(text, "=")
	if !long && !p.single && (len(name) > 1 || assigned) { // -ojson, -Aq: written together
		return shorts(text, args[1:], values, switches)
	}
	if name == "" || !p.single && long != (len(name) > 1) {
		return used, nil, false
	}
	switch {
	case has(switches, name) && (!assigned || value == "true" || value == "false"):
		return given{name, value}, args[1:], true
	case !has(values, name):
		return used, nil, false
	case assigned:
	case len(args) < 2 || strings.HasPrefix(args[1], "-"):
		return used, nil, false
	default:
		value, args = args[1], args[1:]
	}
	return given{name, value}, args[1:], true
}

// shorts removes combined short flags: switches, and at most one with a value at the end.
func shorts(text string, rest []string, values, switches string) (given, []string, bool) {
	for i := range text {
		name := text[i : i+1]
		if has(switches, name) {
			continue
		}
		value := strings.TrimPrefix(text[i+1:], "=")
		if !has(values, name) || value == "" {
			return given{}, nil, false
		}
		return given{name, value}, rest, true
	}
	return given{}, rest, true
}

func has(list, name string) bool {
	for word := range strings.FieldsSeq(list) {
		if word == name {
			return true
		}
	}
	return false
}

// describe describes a command that is not in the table, if its verb is known.
func describe(argv []string) string {
	command := "runs " + argv[0]
	if len(argv) > 1 {
		command += " " + argv[1]
	}
	switch {
	case argv[0] != own || len(argv) < 2:
	case argv[1] == "ccm" && slices.Contains(argv, "swap"):
		return command + " swap, which may start a program"
	case argv[1] == "events" && slices.Contains(argv, "export"):
		return command + " export, which writes a file"
	}
	for _, known := range []struct{ flag, of, what string }{
		{"kubeconfig", "kubectl", "with a kubeconfig that the scenario names, which may start programs and is of another cluster"},
		{"name", own, "on another sandbox"},
		{"server", "kubectl", "against another server"},
		{"force", argv[0], "with --force"},
	} {
		if known.of == argv[0] && slices.ContainsFunc(argv, func(arg string) bool {
			text := strings.TrimLeft(arg, "-")
			return strings.HasPrefix(arg, "-") && (text == known.flag || strings.HasPrefix(text, known.flag+"="))
		}) {
			return command + " " + known.what
		}
	}
	return command + ", which is not known to only read"
}
