package faults

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
)

// NewPower returns the menu of what can be done to a VM, which the subject names. What has no effect in the state that the
// VM is in says so.
func NewPower(subject api.Subject, vm api.VM) *Menu {
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
		e := entry{key: a.key, name: a.name, what: a.what, why: a.why, intent: do}
		if a.action == api.Move { // the prompt knows which hosts there are
			e.intent = intent.Prompt{Text: intent.Quote(do.Args()...) + " --to "}
		}
		entries = append(entries, e)
	}
	return newMenu(text.Clean("VM "+subject.Name)+"  "+glance.Power(vm).String(), false, entries)
}

func notOn(vm api.VM) string {
	if vm.Power == "on" {
		return "it is on"
	}
	return ""
}

// notOff is about what takes a VM that is not off. A suspended one can be powered off and reset.
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

// notHang is about what takes a guest that runs.
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
