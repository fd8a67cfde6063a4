package overview_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

// guest returns the state with a VirtualMachine of each VM, which edit may change, and one without a VM.
func guest(edit func(*api.VirtualMachine)) *fold.State {
	s := tuitest.At(14 * time.Second)
	for _, v := range world.Values[api.VM](s.World(), world.VM) {
		m := api.VirtualMachine{
			Name: v.Name, Namespace: "guests", Guest: "tkc", VCenter: v.VCenter, VM: v.Name, MoRef: v.MoRef, Node: v.Hostname, Power: "PoweredOn", WantedPower: "PoweredOn",
			Zone: v.Zone, Class: "best-effort-small", Addresses: v.Addresses, Conditions: []api.Condition{{Type: "VirtualMachineCreated", Status: "True"}, {Type: "VirtualMachineTools", Status: "True"}},
		}
		edit(&m)
		s.Apply(s.Now(), api.Update{VirtualMachine: &m})
	}
	s.Apply(s.Now(), api.Update{VirtualMachine: &api.VirtualMachine{
		Name: "worker-new", Namespace: "guests", Guest: "tkc", WantedPower: "PoweredOn", Class: "huge",
		Conditions: []api.Condition{{Type: "VirtualMachineClassReady", Status: "False", Reason: "NotFound", Message: "no VirtualMachineClass huge"}},
	}})
	return s
}

// Each VM has its VirtualMachine beside it: in a column where there is room, with its conditions in the details. What is changing or
// lacking is trouble.
func TestVirtualMachines(t *testing.T) {
	s := guest(func(m *api.VirtualMachine) {
		if m.Name == "worker-west-1" {
			m.WantedPower, m.Conditions[1] = "PoweredOff", api.Condition{Type: "VirtualMachineTools", Status: "False", Reason: "NotRunning"}
		}
	})
	for _, size := range sizes {
		name := fmt.Sprintf("guest-%dx%d", size[0], size[1])
		t.Run(name, func(t *testing.T) {
			o := screen(s, size[0], size[1])
			if !o.Choose(api.Subject{Kind: "vm", Name: "worker-west-1"}) {
				t.Fatal("worker-west-1 cannot be chosen")
			}
			tuitest.Fills(t, o.View(), size[0], size[1])
			tuitest.Golden(t, name, o.View())
		})
	}
	o := screen(s, 200, 57)
	press(t, o, "N")
	if s, ok := o.Subject(); ok {
		t.Errorf("a VirtualMachine without a VM is %v, which nothing can be asked about", s)
	}
	for _, want := range []string{"guests/worker-new, unknown→On", "VirtualMachineClassReady is False: no VirtualMachineClass huge", "vSphere has none of this VirtualMachine yet"} {
		if has := strings.Contains(strings.ReplaceAll(ansi.Strip(o.View()), "…", ""), want); !has {
			t.Errorf("the details of worker-new do not say %q:\n%s", want, ansi.Strip(o.View()))
		}
	}
	o.SetFilter("guests/worker-west-1")
	row(t, o, "On→Off")
	if has(o, "worker-eu-1") {
		t.Error("the filter by a VirtualMachine's name shows others")
	}
}

// A VirtualMachine that is deleted and a VM that is another VirtualMachine's leave no trace.
func TestVirtualMachineGone(t *testing.T) {
	s := guest(func(*api.VirtualMachine) {})
	o := screen(s, 200, 57)
	for _, row := range s.World().Rows(world.VirtualMachine) {
		m := row.Value.(api.VirtualMachine)
		s.Apply(s.Now(), api.Update{VirtualMachine: &m, Deleted: true})
	}
	o.SetState(s)
	if view := ansi.Strip(o.View()); strings.Contains(view, "guests/") || strings.Contains(view, "worker-new") || strings.Contains(view, "VIRTUALMACHINE") {
		t.Errorf("it is still there:\n%s", view)
	}
}
