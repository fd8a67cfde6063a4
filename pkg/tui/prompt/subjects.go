package prompt

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
)

// subjectCommands go to a thing, show it on both planes, or explain it.
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
		c.words, c.also, c.short = []string{"details", s.kind}, []string{"describe " + s.kind, "inspect " + s.kind}, "on both planes"
		c.make = about(s.kind, func(s api.Subject) intent.Intent { return intent.Details{Subject: s} })
		all = append(all, c)
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

// about makes an intent of the thing that is named.
func about(kind string, f func(api.Subject) intent.Intent) func(given) (intent.Intent, error) {
	return func(g given) (intent.Intent, error) {
		s := api.Subject{Kind: kind, VCenter: g.of("vcenter")}
		if len(g.args) > 0 {
			s.Name = g.args[0]
		}
		return f(s), nil
	}
}
