package intent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Args implements [Action].
func (a Inject) Args() []string {
	on := a.On
	c := command{words: []string{"fault", "inject", a.Fault}, names: on.Names}
	for _, f := range []struct{ name, value string }{
		{"vcenter", on.VCenter},
		{"datacenter", on.Datacenter},
		{"cluster", on.Cluster},
		{"host", on.Host},
		{"region", on.Region},
		{"zone", on.Zone},
		{"role", on.Role},
		{"selector", on.Labels},
		{"mode", a.Mode},
		{"for", span(time.Duration(a.For))},
	} {
		c.flags = append(c.flags, flag(f.name, f.value)...)
	}
	if a.Seed != 0 {
		c.flags = append(c.flags, "--seed", strconv.FormatUint(a.Seed, 10))
	}
	var settings []string
	for name, value := range a.Params {
		settings = append(settings, name+"="+value)
	}
	slices.Sort(settings)
	for _, s := range settings {
		c.flags = append(c.flags, "--set", s)
	}
	if a.DryRun {
		c.flags = append(c.flags, "--dry-run")
	}
	if a.Confirmed {
		c.flags = append(c.flags, "--yes")
	}
	return c.args()
}

// Danger implements [Action].
func (a Inject) Danger() string {
	_, what, _ := strings.Cut(a.Fault, ".")
	last := what[strings.LastIndexByte(what, '-')+1:]
	switch {
	case a.DryRun:
		return ""
	case slices.Contains([]string{"destroy", "unregister", "recreate", "deleted", "detached", "forgotten", "outage"}, last), a.many():
		return "Inject " + a.Fault + a.where() + "? " + a.ends()
	}
	return ""
}

// many reports whether it may hit several targets.
func (a Inject) many() bool {
	wild := func(n string) bool { return strings.ContainsAny(n, "*?") }
	switch a.Mode {
	case "":
		return len(a.On.Names) > 1 || slices.ContainsFunc(a.On.Names, wild)
	case "one", "1":
		return false
	}
	return true
}

// where describes the targets.
func (a Inject) where() string {
	on := a.On
	words := []string{}
	if len(on.Names) > 0 {
		words = append(words, shorten.List(on.Names, 3))
	}
	for _, f := range []struct{ name, value string }{
		{"vCenter", on.VCenter},
		{"datacenter", on.Datacenter},
		{"cluster", on.Cluster},
		{"host", on.Host},
		{"region", on.Region},
		{"zone", on.Zone},
		{"role", on.Role},
		{"labels", on.Labels},
	} {
		if f.value != "" {
			words = append(words, f.name+" "+f.value)
		}
	}
	s := strings.Join(words, ", ")
	switch {
	case a.Mode == "" && s == "":
		return ""
	case a.Mode == "":
		return " into " + s
	case s == "" && a.Mode == "all":
		return " into all there are"
	case s == "":
		s = "all there are"
	}
	return " into " + a.Mode + " of " + s
}

// ends describes when it ends.
func (a Inject) ends() string {
	if a.For == 0 {
		return "It lasts until it is healed."
	}
	return "It is healed after " + span(time.Duration(a.For)) + "."
}

// Do implements [Action].
func (a Inject) Do(ctx context.Context, s Sandbox) (string, error) {
	l, err := s.Inject(ctx, a.InjectRequest)
	if err != nil {
		return "", asking(err, func(answer *api.Error) Action {
			a.Confirmed, a.Seed = true, cmp.Or(a.Seed, answer.Seed)
			return a
		})
	}
	on := targets(l)
	switch {
	case a.DryRun:
		return fmt.Sprintf("%s would be injected%s, with seed %d; nothing was done", l.Fault, on, l.Seed), nil
	case l.State == "healed":
		return fmt.Sprintf("%s: %s happened%s", l.ID, l.Fault, on), nil
	case l.Until != nil:
		return fmt.Sprintf("%s: %s injected%s for %s", l.ID, l.Fault, on, span(l.Until.Sub(l.Since).Round(time.Millisecond))), nil
	}
	return fmt.Sprintf("%s: %s injected%s", l.ID, l.Fault, on), nil
}

// targets describes the targets of a lease.
func targets(l api.Lease) string {
	var names []string
	for _, t := range l.Targets {
		if t.VCenter != "" && t.VCenter != t.Name {
			t.Name = t.VCenter + "/" + t.Name
		}
		names = append(names, t.Name)
	}
	if len(names) == 0 {
		return ""
	}
	return " into " + shorten.List(names, 3)
}

// Args implements [Action].
func (a Heal) Args() []string {
	if a.All {
		return []string{"fault", "heal", "--all"}
	}
	return command{words: []string{"fault", "heal"}, names: a.IDs}.args()
}

// Danger implements [Action].
func (Heal) Danger() string { return "" }

// Do implements [Action].
func (a Heal) Do(ctx context.Context, s Sandbox) (string, error) {
	r := a.HealRequest
	if r.All {
		r.IDs = nil
	}
	leases, err := s.Heal(ctx, r)
	if err != nil {
		return "", err
	}
	if len(leases) == 0 {
		return "no active faults", nil
	}
	words := make([]string, len(leases))
	for i, l := range leases {
		words[i] = fmt.Sprintf("%s: %s %s", l.ID, l.Fault, cmp.Or(l.Note, "healed"))
	}
	const most = 3
	if len(words) > most {
		return fmt.Sprintf("%s; and %d more", strings.Join(words[:most], "; "), len(words)-most), nil
	}
	return strings.Join(words, "; "), nil
}

// Args implements [Action].
func (RestartCCM) Args() []string { return []string{"ccm", "restart"} }

// Danger implements [Action]: the controller ends in order.
func (RestartCCM) Danger() string { return "" }

// Do implements [Action].
func (RestartCCM) Do(ctx context.Context, s Sandbox) (string, error) {
	done, err := s.RestartCCM(ctx)
	if err != nil {
		return "", err
	}
	return "ccm: " + done.Message, nil
}

// Args implements [Action].
func (a OutOfService) Args() []string { return a.command().args() }

func (a OutOfService) command() command {
	c := command{words: []string{"taint", "out-of-service"}, names: []string{a.Node}}
	if a.Remove {
		c.flags = []string{"--remove"}
	}
	return c
}

// Danger implements [Action].
func (a OutOfService) Danger() string {
	if a.Remove {
		return ""
	}
	return "Say that node " + a.Node + " is out of service? Its pods are removed and its volumes detached, whether it runs or not."
}

// Do implements [Action].
func (a OutOfService) Do(ctx context.Context, s Sandbox) (string, error) {
	done, err := s.OutOfService(ctx, a.OutOfServiceRequest)
	return done.Message, err
}

// Args implements [Action].
func (a VM) Args() []string { return a.command().args() }

func (a VM) command() command {
	c := command{words: []string{"vm", string(a.Action)}, names: []string{a.VM}, flags: flag("vcenter", a.VCenter)}
	switch a.Action {
	case api.Move:
		c.flags = append(c.flags, flag("to", a.Host)...)
	case api.Destroy:
		c.flags = append(c.flags, "--yes") // the UI has asked
		return c
	}
	if a.Confirmed {
		c.flags = append(c.flags, "--yes")
	}
	return c
}

// Danger implements [Action].
func (a VM) Danger() string {
	if a.Action == api.Destroy {
		name := a.VM
		if a.VCenter != "" { // which may have namesakes elsewhere
			name = a.VCenter + "/" + name
		}
		return "Destroy VM " + name + "? Its disks go with it, and its node is removed. This cannot be undone."
	}
	return ""
}

// Do implements [Action].
func (a VM) Do(ctx context.Context, s Sandbox) (string, error) {
	r := a.VMRequest
	if r.Action != api.Move {
		r.Host = ""
	}
	r.Confirmed = r.Confirmed || r.Action == api.Destroy // the UI has asked
	done, err := s.VM(ctx, r)
	return done.Message, asking(err, func(*api.Error) Action {
		a.Confirmed = true
		return a
	})
}

// Args implements [Action].
func (a Volume) Args() []string { return a.command().args() }

func (a Volume) command() command {
	c := command{words: []string{"volume", string(a.Action)}, names: []string{a.Volume}}
	if a.Action == api.RelocateVolume {
		c.flags = flag("to", a.Datastore)
	}
	if a.Confirmed {
		c.flags = append(c.flags, "--yes")
	}
	return c
}

// Danger implements [Action].
func (a Volume) Danger() string {
	if a.Action == api.DetachVolume {
		return "Detach volume " + a.Volume + " behind Kubernetes' back? A pod that writes to it loses it."
	}
	return ""
}

// Do implements [Action].
func (a Volume) Do(ctx context.Context, s Sandbox) (string, error) {
	r := a.VolumeRequest
	if r.Action != api.RelocateVolume {
		r.Datastore = ""
	}
	done, err := s.Volume(ctx, r)
	return done.Message, asking(err, func(*api.Error) Action {
		a.Confirmed = true
		return a
	})
}
