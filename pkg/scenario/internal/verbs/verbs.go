package verbs

import (
	"fmt"
	"slices"
	"strings"
)

// Effects returns what a command of a scenario may do beyond reading its sandbox, in words that follow "it"; "" if it is known to
// do no more.
func Effects(argv []string) string {
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

// verb is a command that only reads.
type verb struct {
	// words are the command: "auth can-i".
	words string
	// values are flags with a value, switches flags without, by name without dashes.
	values, switches string
	// bare commands take no arguments besides flags.
	bare bool
}

// program is the command line syntax of a program.
type program struct {
	// before are flags with a value that may precede the verb. No others may: the program would take a word after an unknown flag
	// for its value, and the next word for the verb.
	before string
	// single means that one dash equals two, and that short flags cannot be combined.
	single bool
	verbs  []verb
}

// programs are the programs that a scenario can run, by the first word of the command.
func programs() map[string]program {
	return map[string]program{"kubectl": kubectl(), "govc": govc(), own: sandbox()}
}

// own is the name of this program in a scenario.
const own = "vsphere-sandbox"

// kubectl has no -w, which never ends, and no -f, which reads files and URLs. Other flags and verbs that are left out talk to
// another server (--kubeconfig, --server), run programs (--kubeconfig, exec, plugins), or write files (cp, --cache-dir,
// cluster-info dump).
func kubectl() program {
	const where = " n namespace request-timeout as as-group "
	return program{before: "n namespace", verbs: []verb{
		{words: "api-resources", values: "api-group categories o output sort-by verbs", switches: "namespaced no-headers"},
		{words: "api-versions", bare: true},
		{words: "auth can-i", values: "subresource" + where, switches: "A all-namespaces list no-headers q quiet"},
		{words: "auth whoami", values: "o output" + where, bare: true},
		{words: "cluster-info", bare: true},
		{words: "describe", values: "l selector" + where, switches: "A all-namespaces show-events"},
		{words: "events", values: "for o output types" + where, switches: "A all-namespaces no-headers", bare: true},
		{words: "explain", values: "api-version", switches: "recursive"},
		{
			words: "get", values: "chunk-size field-selector l label-columns L o output selector sort-by" + where,
			switches: "A all-namespaces ignore-not-found no-headers show-kind show-labels show-managed-fields",
		},
		{
			words: "logs", values: "c container l limit-bytes selector since since-time tail" + where,
			switches: "all-containers ignore-errors p prefix previous timestamps",
		},
		{words: "rollout history", values: "o output revision" + where},
		{words: "rollout status", values: "revision timeout" + where},
		{words: "top nodes", values: "l selector sort-by", switches: "no-headers"},
		{words: "top node", values: "l selector sort-by", switches: "no-headers"},
		{words: "top pods", values: "field-selector l selector sort-by" + where, switches: "A all-namespaces containers no-headers sum"},
		{words: "top pod", values: "field-selector l selector sort-by" + where, switches: "A all-namespaces containers no-headers sum"},
		{words: "version", values: "o output", switches: "client", bare: true},
		{words: "wait", values: "field-selector for l o output selector timeout" + where, switches: "A all all-namespaces"},
	}}
}

// govc has no flags that choose a vCenter or an account or save sessions (-u, -k, -cert, -key, -persist-session, -trace), and no
// commands that read standard input or files.
func govc() program {
	return program{before: "vcenter", single: true, verbs: []verb{
		{words: "about", switches: "json l", bare: true},
		{words: "datacenter.info", values: "dc", switches: "json"},
		{words: "datastore.info", values: "dc ds", switches: "H json"},
		{words: "datastore.ls", values: "dc ds", switches: "R a json l p"},
		{words: "device.info", values: "dc vm", switches: "json"},
		{words: "device.ls", values: "dc vm", switches: "boot json"},
		{words: "disk.ls", values: "c dc ds t", switches: "L T json l"}, // -R reconciles, which writes
		{words: "events", values: "dc n type", switches: "json l"},
		{words: "find", values: "dc maxdepth name type", switches: "i json l p"},
		{words: "host.info", values: "dc host", switches: "json"},
		{words: "ls", values: "dc t", switches: "L i json l"},
		{words: "object.collect", values: "dc", switches: "json s"},
		{words: "pool.info", values: "dc", switches: "a json p"},
		{words: "snapshot.tree", values: "dc vm", switches: "C D c d i json s"},
		{words: "storage.policy.info", switches: "c json s"},
		{words: "storage.policy.ls", switches: "i json"},
		{words: "tags.attached.ls", values: "dc", switches: "json l r"},
		{words: "tags.category.info", switches: "json"},
		{words: "tags.category.ls", switches: "json"},
		{words: "tags.info", values: "c", switches: "C json"},
		{words: "tags.ls", values: "c", switches: "json"},
		{words: "vm.info", values: "dc vm", switches: "e g json r t"},
		{words: "volume.ls", values: "c ds n", switches: "L b i json l"},
	}}
}

// sandbox has no --name, which chooses another sandbox, and no commands that follow forever.
func sandbox() program {
	const list = "o output"
	verbs := []verb{
		{words: "ccm status", values: list, switches: "no-headers", bare: true},
		{words: "events", values: "kind object plane since " + list, switches: "no-headers", bare: true},
		{words: "explain node", values: list},
		{words: "explain vm", values: list},
		{words: "explain volume", values: list},
		{words: "fault describe", values: list},
		{words: "fault leases", values: list, switches: "no-headers", bare: true},
		{words: "fault list", values: list, switches: "no-headers"},
		{words: "logs", values: "tail " + list, switches: "no-headers"},
		{words: "status", values: list, bare: true},
		{words: "version", values: list, bare: true},
		{words: "wait", values: "for timeout", bare: true},
	}
	for kind := range strings.FieldsSeq("datacenters datacenter dc datastores datastore ds hosts host nodes node no vcenters vcenter vc vms vm volumes volume pv pvc zones zone") {
		verbs = append(verbs, verb{words: "get " + kind, values: list, switches: "no-headers"})
	}
	return program{verbs: verbs}
}

// outputs are the values of -o in kubectl and in this program. Those with a file (jsonpath-file, go-template-file,
// custom-columns-file) would print other files.
func output(value string) bool {
	for format := range strings.FieldsSeq("json name plaintext table text wide yaml") {
		if value == format {
			return true
		}
	}
	return slices.ContainsFunc([]string{"custom-columns=", "jsonpath=", "jsonpath-as-json="}, func(format string) bool {
		return strings.HasPrefix(value, format)
	})
}
