package faults

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

func nodeMenu(t testing.TB) *Menu {
	m := NewMenu(kinds(t), api.Subject{Kind: "node", Name: "worker-west-1"}, tuitest.At(30*time.Second))
	m.SetSize(m.Size(100, 30))
	return m
}

func TestMenu(t *testing.T) {
	m := nodeMenu(t)
	golden(t, "menu", m)
	fills(t, m)
	for _, k := range tuitest.Type("power vm") {
		m.Handle(k)
	}
	golden(t, "menu-search", m)
	fills(t, m)
}

// offered are the names in a menu, with their groups before them.
func offered(m *Menu) (all []string) {
	for _, e := range m.entries {
		all = append(all, e.group+": "+e.name)
	}
	return all
}

func TestWhatCanHappen(t *testing.T) {
	s := tuitest.At(30 * time.Second)
	for _, tt := range []struct {
		of   api.Subject
		want []string
	}{
		{api.Subject{Kind: "host", VCenter: "us", Name: "esx-west-1"}, []string{"host esx-west-1: host.crash", "host esx-west-1: host.maintenance"}},
		{api.Subject{Kind: "zone", Name: "us-west"}, []string{"zone us-west: zone.outage"}},
		{api.Subject{Kind: "volume", Name: "default/data-web-0"}, []string{"volume default/data-web-0: volume.detached"}},
		{
			api.Subject{Kind: "component", Name: "ccm"},
			[]string{"sandbox: ccm.killed", "sandbox: ccm.paused", "sandbox: control-plane.restart", "sandbox: etcd.slow"},
		},
		{
			api.Subject{Kind: "component", Name: "csi-attacher"},
			[]string{"component csi-attacher: csi.killed", "sandbox: ccm.killed", "sandbox: ccm.paused", "sandbox: control-plane.restart", "sandbox: etcd.slow"},
		},
		{api.Subject{Kind: "pod", Name: "web-0"}, nil},
	} {
		if d := cmp.Diff(tt.want, offered(NewMenu(kinds(t), tt.of, s))); d != "" {
			t.Errorf("%v (-want +got):\n%s", tt.of, d)
		}
	}
	if got := offered(NewMenu(kinds(t), api.Subject{}, s)); len(got) != len(kinds(t)) {
		t.Errorf("into anything: %d kinds", len(got))
	}
	m := NewMenu(kinds(t), api.Subject{Kind: "pod", Name: "web-0"}, s)
	m.SetSize(60, 10)
	if !strings.Contains(m.View(), "No fault happens to a pod.") {
		t.Errorf("it is empty without a word:\n%s", m.View())
	}
}

func TestMenuKeys(t *testing.T) {
	node, vm := api.Subject{Kind: "node", Name: "worker-west-1"}, vmSubject()
	fill := func(kind string, s api.Subject) intent.Intent { return intent.Fill{Kind: kind, Subject: s} }
	for _, tt := range []struct {
		name string
		keys []string
		want intent.Intent
	}{
		{"the first", []string{"enter"}, fill("vm.clone-same-uuid", vm)},
		{"down", []string{"down", "ctrl+n", "up", "ctrl+p", "down", "enter"}, fill("vm.crash-loop", vm)},
		{"the node on the VM", []string{"k", "u", "b", "e", "l", "e", "t", "-", "k", "enter"}, fill("node.kubelet-killed", node)},
		{"the ends", []string{"end", "home", "pgdown", "pgup", "enter"}, fill("vm.clone-same-uuid", vm)},
		{"searched", []string{"o", "f", "f", "space", "p", "u", "l", "l", "enter"}, fill("vm.power-off", vm)},
		{"searched again", []string{"x", "y", "ctrl+u", "h", "a", "n", "g", "enter"}, fill("vm.hang", vm)},
		{"corrected", []string{"h", "a", "n", "g", "x", "backspace", "enter"}, fill("vm.hang", vm)},
		{"a word taken back", []string{"h", "a", "n", "g", "space", "x", "y", "ctrl+w", "enter"}, fill("vm.hang", vm)},
		{"a name counts more than what is said of others", []string{"o", "f", "f", "enter"}, fill("vm.power-off", vm)},
		{"nothing found", []string{"z", "z", "z", "enter"}, nil},
		{"the search is closed first", []string{"z", "esc", "enter"}, fill("vm.clone-same-uuid", vm)},
		{"closed", []string{"esc"}, intent.Back{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := tuitest.Press(nodeMenu(t).Handle, tt.keys...)
			if d := cmp.Diff(tt.want, got); d != "" || !ok {
				t.Errorf("taken: %t (-want +got):\n%s", ok, d)
			}
		})
	}
	m := nodeMenu(t)
	if _, ok := tuitest.Press(m.Handle, "ctrl+c"); ok || !m.Typing() {
		t.Error("ctrl+c is taken, or letters are not")
	}
	m.Paste("hang")
	if got, _ := tuitest.Press(m.Handle, "enter"); got != fill("vm.hang", vm) {
		t.Errorf("what is pasted is not searched: %v", got)
	}
}

func TestMenuMouse(t *testing.T) {
	m := nodeMenu(t)
	m.Wheel(3)
	if m.chosen().name != "vm.guest-shutdown" {
		t.Errorf("the wheel goes to %s", m.chosen().name)
	}
	y := m.above() + 2 // after the header and the heading
	if got, ok := m.Click(3, y+1); got != nil || !ok || m.chosen().name != "vm.crash-loop" {
		t.Errorf("a click chooses %s, and does %v", m.chosen().name, got)
	}
	if got, _ := m.Click(3, y+1); got == nil {
		t.Error("a second click does nothing")
	}
	if got, _ := m.Click(3, y-1); got != nil {
		t.Error("a click on a heading does something")
	}
}

func TestPower(t *testing.T) {
	m := NewPower(vmSubject(), api.VM{Name: "worker-west-1", VCenter: "us", Power: "off", Process: "stopped"})
	golden(t, "power", m)
	fills(t, m)
}

func TestPowerKeys(t *testing.T) {
	do := func(a api.VMAction) intent.Intent {
		return intent.VM{VMRequest: api.VMRequest{Action: a, VM: "worker-west-1", VCenter: "us"}}
	}
	no := func(text string) intent.Intent { return intent.Say{Text: text, Bad: true} }
	move := intent.Prompt{Text: "vm move worker-1 --vcenter us --to "}
	move.Text = strings.Replace(move.Text, "worker-1", "worker-west-1", 1)
	for _, tt := range []struct {
		power, process, keys string
		want                 intent.Intent
	}{
		{"on", "running", "o", no("power on: it is on")},
		{"on", "running", "f", do(api.PowerOff)},
		{"on", "running", "s", do(api.Suspend)},
		{"on", "running", "r", do(api.Reset)},
		{"on", "running", "h", do(api.Hang)},
		{"on", "running", "m", move},
		{"on", "running", "D", do(api.Destroy)},
		{"off", "stopped", "o", do(api.PowerOn)},
		{"off", "stopped", "f", no("power off: it is off")},
		{"off", "stopped", "s", no("suspend: it is off")},
		{"off", "stopped", "r", no("reset: it is off")},
		{"off", "stopped", "h", no("hang: it is off")},
		{"off", "stopped", "D", do(api.Destroy)},
		{"suspended", "suspended", "o", do(api.PowerOn)},
		{"suspended", "suspended", "f", do(api.PowerOff)},
		{"suspended", "suspended", "s", no("suspend: it is suspended")},
		{"suspended", "suspended", "h", no("hang: it is suspended")},
		{"on", "hung", "h", no("hang: it hangs already; reset ends that")},
		{"on", "backing-off", "h", no("hang: its kubelet is backing-off")},
		{"on", "", "h", no("hang: no kubelet of the sandbox runs in it")},
		{"on", "running", "j enter", do(api.PowerOff)},
		{"on", "running", "down j k up enter", no("power on: it is on")},
		{"on", "running", "esc", intent.Back{}},
	} {
		m := NewPower(vmSubject(), api.VM{Name: "worker-west-1", VCenter: "us", Power: tt.power, Process: tt.process})
		m.SetSize(70, 12)
		got, ok := tuitest.Press(m.Handle, strings.Fields(tt.keys)...)
		if d := cmp.Diff(tt.want, got); d != "" || !ok {
			t.Errorf("%s, %s: %s: taken %t (-want +got):\n%s", tt.power, tt.process, tt.keys, ok, d)
		}
	}
}

// Keys without a meaning are the root model's, and what has no effect is not offered.
func TestPowerBindings(t *testing.T) {
	m := NewPower(vmSubject(), api.VM{Power: "off"})
	if m.Typing() {
		t.Error("letters are searched")
	}
	for _, k := range []string{"?", "q", "l", "ctrl+c", ":"} {
		if _, ok := tuitest.Press(m.Handle, k); ok {
			t.Errorf("%s is taken", k)
		}
	}
	on := ""
	for _, b := range m.Bindings()[3:] {
		if b.Enabled() {
			on += b.Help().Key
		}
	}
	if on != "omD" {
		t.Errorf("offered of a VM that is off: %s", on)
	}
	m.Sandbox = "lab"
	m.SetSize(90, 12)
	if view := ansi.Strip(m.View()); !strings.Contains(view, "$ vsphere-sandbox --name lab vm power-on worker-west-1 --vcenter us") {
		t.Errorf("the command line is not there:\n%s", view)
	}
}

func BenchmarkMenu(b *testing.B) {
	s := tuitest.Big(1000)
	m := NewMenu(kinds(b), api.Subject{Kind: "node", Name: "worker-west-0000"}, s)
	m.SetSize(96, 20)
	for b.Loop() {
		m.SetState(s)
		_ = m.View()
	}
}

// TestPowerChanges: an open power menu shows the current state of the VM.
func TestPowerChanges(t *testing.T) {
	before, after := tuitest.At(15*time.Second), tuitest.At(30*time.Second) // it is off by then
	m := NewPower(vmSubject(), api.VM{Name: "worker-west-1", VCenter: "us", Power: "on", Process: "running"})
	m.SetSize(76, 11)
	m.SetState(before)
	if !strings.Contains(m.View(), "it is on") {
		t.Errorf("before:\n%s", m.View())
	}
	tuitest.Press(m.Handle, "down", "down")
	was := m.chosen().name
	m.SetState(after)
	if v := m.View(); !strings.Contains(v, "it is off") || strings.Contains(v, "it is on") || m.chosen().name != was {
		t.Errorf("after, with the cursor on %s, which was on %s:\n%s", m.chosen().name, was, v)
	}
	if got, _ := tuitest.Press(m.Handle, "o"); got == nil {
		t.Error("it cannot be powered on")
	} else if _, ok := got.(intent.VM); !ok {
		t.Errorf("power on: %v", got)
	}

	m = NewPower(api.Subject{Kind: "vm", VCenter: "us", Name: "late"}, api.VM{Name: "late", VCenter: "us", Power: "on"})
	m.SetSize(76, 11)
	m.SetState(after) // in which it does not exist any more
	if v := m.View(); !strings.Contains(v, "gone") {
		t.Errorf("a VM that is gone:\n%s", v)
	}
	if got, _ := tuitest.Press(m.Handle, "D"); got != (intent.Say{Text: "destroy: it is gone", Bad: true}) {
		t.Errorf("destroy: %v", got)
	}
}
