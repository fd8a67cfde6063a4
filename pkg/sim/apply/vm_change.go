package apply

import (
	"context"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// vmChange is what differs at one VM.
type vmChange struct {
	m    *machine
	what []string
	// off: it cannot be done to a VM that runs.
	off bool

	spec      types.VirtualMachineConfigSpec // of what needs no other object
	reconfig  bool
	cards     bool
	version   string
	relocate  bool
	rename    bool
	folder    bool
	customize bool
	drop      []string // snapshots
	take      []topology.Snapshot
}

func (v *vmChange) say(format string, args ...any) {
	v.what = append(v.what, fmt.Sprintf(format, args...))
}

// changeVM plans what changes a VM that is there.
func (p *planner) changeVM(m *machine) {
	v := &vmChange{m: m}
	p.hardwareDiffers(v)
	p.placeDiffers(v)
	p.cardsDiffer(v)
	p.settingsDiffer(v)
	p.snapshotsDiffer(v)
	if m.before != nil && (m.before.Tools == topology.No) != (m.Tools == topology.No) {
		p.cannot(m.path, "tools: are installed in the guest, which is none of the vCenter's business")
	}
	if guestDiffers(m) {
		v.customize, v.off = true, true
		v.say("hostname %s, addresses %s", m.Hostname, strings.Join(bare(m.VM), ","))
	}

	template := get[bool](m.live, "config.template")
	wantTemplate := m.Template == topology.Yes
	if template != wantTemplate {
		v.off = true
		if wantTemplate {
			v.say("becomes a template")
		} else {
			v.say("is a template no more")
		}
	}
	on := running(m.live)
	suspended := get[types.VirtualMachinePowerState](m.live, "runtime.powerState") == types.VirtualMachinePowerStateSuspended
	wantOn := m.Power != topology.PowerOff && !wantTemplate
	switch {
	case wantOn && !on:
		v.say("power on")
	case wantOn && suspended && !v.off:
		v.say("resume")
	case !wantOn && on && !wantTemplate:
		v.say("power off")
	}
	if len(v.what) == 0 {
		return
	}
	down := on && (v.off || !wantOn)
	if down && wantOn {
		v.say("power off and on")
	}
	s := p.step(Change, KindVM, m.path, strings.Join(v.what, "; "), func(ctx context.Context, c *vim25.Client) error {
		return p.doVM(ctx, c, v, template, down)
	})
	s.PowerOff = down
}

func bare(vm *topology.VM) []string {
	var all []string
	for _, nic := range vm.NICs {
		for _, a := range nic.Addresses {
			text, _, _ := strings.Cut(a, "/")
			all = append(all, text)
		}
	}
	return all
}
