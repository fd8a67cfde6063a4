package prompt

import (
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
)

// commands are all commands, in the order of completion.
func commands() []command {
	return slices.Concat(screenCommands(), vmCommands(), vcenterCommands(), volumeCommands(), faultCommands(), subjectCommands(), otherCommands())
}

// plain is a command without arguments and a fixed intent.
func plain(short string, i intent.Intent, word string, also ...string) command {
	return command{words: fields(word), also: also, short: short, make: func(given) (intent.Intent, error) { return i, nil }}
}

func screenCommands() []command {
	return []command{
		plain("both planes, row by row", intent.Go{Screen: intent.Overview}, "overview", "ov", "nodes", "no", "vms", "hosts", "vcenters", "status"),
		plain("what happened, with causes", intent.Go{Screen: intent.Timeline}, "timeline", "tl", "events", "ev"),
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
