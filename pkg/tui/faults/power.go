package faults

import (
	"cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// NewPower returns the power menu of a VM. Entries without effect in the current state of the VM show why; they are updated while
// the menu is open.
func NewPower(subject api.Subject, vm api.VM) *Menu {
	m := newMenu(powerTitle(vm), false, powerEntries(subject, vm, ""))
	seen := uint64(0)
	m.again = func(s *fold.State) {
		if v := s.Version(world.VM) + 1; v != seen {
			seen = v
			now, gone := vm, "it is gone"
			for _, one := range world.Values[api.VM](s.World(), world.VM) {
				if one.Name == vm.Name && one.VCenter == vm.VCenter {
					now, gone = one, ""
				}
			}
			if m.title = powerTitle(now); gone != "" {
				m.title = text.Clean("VM "+subject.Name) + "  " + theme.GlyphBad + " gone"
			}
			m.entries = powerEntries(subject, now, gone)
			m.find()
		}
	}
	return m
}

func powerTitle(vm api.VM) string {
	return text.Clean("VM "+vm.Name) + "  " + glance.Power(vm).String()
}

// powerEntries returns the entries, always in the same order. gone is a reason that disables all.
func powerEntries(subject api.Subject, vm api.VM, gone string) []entry {
	var entries []entry
	for _, a := range []struct {
		key, name, what string
		action          api.VMAction
		why             string
	}{
		{"o", "power on", "boots it, or resumes what is suspended", api.PowerOn, notOn(vm)},
		{"f", "power off", "pulls the plug: NotReady, and the shutdown taint", api.PowerOff, notOff(vm)},
		{"s", "suspend", "stops it where it is, until it is powered on", api.Suspend, notSuspend(vm)},
		{"r", "reset", "kills its kubelet and boots it again", api.Reset, notOff(vm)},
		{"h", "hang", "stops its guest where vSphere does not see it", api.Hang, notHang(vm)},
		{"m", "move", "to another host of its datacenter, as vMotion does", api.Move, ""},
		{"D", "destroy", "with its disks; its node is removed", api.Destroy, ""},
	} {
		do := intent.VM{VMRequest: api.VMRequest{Action: a.action, VM: subject.Name, VCenter: subject.VCenter}}
		e := entry{key: a.key, name: a.name, what: a.what, why: cmp.Or(gone, a.why), intent: do}
		if a.action == api.Move { // the prompt knows which hosts there are
			e.intent = intent.Prompt{Text: intent.Quote(do.Args()...) + " --to "}
		}
		entries = append(entries, e)
	}
	return entries
}

func notOn(vm api.VM) string {
	if vm.Power == "on" {
		return "it is on"
	}
	return ""
}

// notOff returns why an action needs a VM that is not off. A suspended one can be powered off and reset.
func notOff(vm api.VM) string {
	if vm.Power == "off" {
		return "it is off"
	}
	return ""
}

func notSuspend(vm api.VM) string {
	if vm.Power != "on" {
		return "it is " + vm.Power
	}
	return ""
}

// notHang returns why an action needs a running guest.
func notHang(vm api.VM) string {
	switch {
	case vm.Power != "on":
		return "it is " + vm.Power
	case vm.Process == "":
		return "no kubelet of the sandbox runs in it"
	case vm.Process == "hung", vm.Process == "suspended":
		return "it hangs already; reset ends that"
	case vm.Process != "running":
		return "its kubelet is " + vm.Process
	}
	return ""
}
