package prompt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
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
