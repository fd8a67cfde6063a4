package glance_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// said is a mark as it is written, and how bad it is.
type said struct {
	Text  string
	Level glance.Level
}

func say(m glance.Mark) said { return said{m.String(), m.Level} }

func TestMarks(t *testing.T) {
	node := func(ready string, initialized bool) glance.Mark {
		return glance.Node(api.Node{Registered: true, Ready: ready, Initialized: initialized})
	}
	for _, tc := range []struct {
		name string
		mark glance.Mark
		want said
	}{
		{"power on", glance.Power(api.VM{Power: "on"}), said{"● on", glance.Good}},
		{"power off", glance.Power(api.VM{Power: "off"}), said{"○ off", glance.Plain}},
		{"power off, of a node", glance.Power(api.VM{Power: "off", Role: "worker"}), said{"○ off", glance.Warn}},
		{"suspended", glance.Power(api.VM{Power: "suspended"}), said{"◐ suspended", glance.Warn}},
		{"power unknown", glance.Power(api.VM{}), said{"? unknown", glance.Warn}},
		{"connected", glance.Connection("connected"), said{"● connected", glance.Good}},
		{"disconnected", glance.Connection("disconnected"), said{"✗ disconnected", glance.Bad}},
		{"connection unknown", glance.Connection(""), said{"? unknown", glance.Warn}},
		{"tools", glance.Tools(api.VM{Tools: true, Power: "on"}), said{"● tools", glance.Good}},
		{"no tools", glance.Tools(api.VM{Power: "on"}), said{"◐ no tools", glance.Warn}},
		{"no tools, off", glance.Tools(api.VM{Power: "off"}), said{"○ no tools", glance.Plain}},
		{"no process", glance.Process(api.VM{}), said{}},
		{"running", glance.Process(api.VM{Process: "running"}), said{"● running", glance.Good}},
		{"hung", glance.Process(api.VM{Process: "hung", Power: "on"}), said{"✗ hung", glance.Bad}},
		{"stopped", glance.Process(api.VM{Process: "stopped", Power: "on"}), said{"◐ stopped", glance.Warn}},
		{"stopped, off", glance.Process(api.VM{Process: "stopped", Power: "off"}), said{"○ stopped", glance.Plain}},
		{"gate up", glance.Gate(api.VCenter{Gate: "up"}), said{"● up", glance.Good}},
		{"gate slow", glance.Gate(api.VCenter{Gate: "slow"}), said{"◐ slow", glance.Warn}},
		{"gate hung", glance.Gate(api.VCenter{Gate: "hung"}), said{"✗ hung", glance.Bad}},
		{"gate unknown", glance.Gate(api.VCenter{}), said{"? unknown", glance.Warn}},
		{"no node", glance.Node(api.Node{}), said{"○ not registered", glance.Plain}},
		{"ready", node("True", true), said{"● Ready", glance.Good}},
		{"ready, not initialized", node("True", false), said{"◐ uninitialized", glance.Warn}},
		{"not ready", node("False", false), said{"✗ NotReady", glance.Bad}},
		{"unknown", node("Unknown", true), said{"? Unknown", glance.Bad}},
		{"no condition", node("", false), said{"◐ no status", glance.Warn}},
		{"volume in use", glance.Volume(api.VolumeInUse), said{"● in-use", glance.Good}},
		{"volume attaching", glance.Volume(api.VolumeAttaching), said{"◐ attaching", glance.Warn}},
		{"volume blocked", glance.Volume(api.VolumeBlocked), said{"✗ blocked", glance.Bad}},
		{"volume orphaned", glance.Volume(api.VolumeOrphaned), said{"? orphaned", glance.Warn}},
		{"volume released", glance.Volume(api.VolumeReleased), said{"○ released", glance.Plain}},
		{"volume of tomorrow", glance.Volume("melted"), said{"? melted", glance.Warn}},
	} {
		if diff := cmp.Diff(tc.want, say(tc.mark)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestTaints(t *testing.T) {
	const (
		plane       = "node-role.kubernetes.io/control-plane:NoSchedule"
		shutdown    = "node.cloudprovider.kubernetes.io/shutdown:NoSchedule"
		raw         = "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule"
		unreachable = "node.kubernetes.io/unreachable:NoExecute"
		soft        = "node.kubernetes.io/unreachable:NoSchedule"
		out         = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
	)
	for _, tc := range []struct {
		taints []string
		want   string
		brief  string
		level  glance.Level
	}{
		{nil, "", "", glance.Plain},
		{[]string{plane}, "control-plane", "control-plane", glance.Plain},
		{[]string{"sandbox.vsphere/light:NoSchedule"}, "light", "light", glance.Plain},
		{[]string{plane, raw}, "uninitialized control-plane", "uninitialized control-plane", glance.Warn},
		{[]string{soft, unreachable, shutdown}, "shutdown unreachable:NoExecute", "shutdown unreachable", glance.Bad},
		{[]string{unreachable, soft}, "unreachable:NoExecute", "unreachable", glance.Bad},
		{[]string{plane, soft, out}, "out-of-service:NoExecute unreachable control-plane", "out-of-service unreachable control-plane", glance.Bad},
		{[]string{"mine"}, "mine", "mine", glance.Warn},
	} {
		got, level := glance.Taints(tc.taints, true)
		brief, _ := glance.Taints(tc.taints, false)
		if got != tc.want || brief != tc.brief || level != tc.level {
			t.Errorf("%v: %q, %q, %d", tc.taints, got, brief, level)
		}
		if has := glance.OutOfService(tc.taints); has != (len(tc.taints) == 3 && tc.taints[2] == out) {
			t.Errorf("%v: out of service %t", tc.taints, has)
		}
	}
	if got := glance.ParseTaint(out); got != (glance.Taint{Key: "node.kubernetes.io/out-of-service", Value: "nodeshutdown", Effect: "NoExecute"}) {
		t.Errorf("%+v", got)
	}
}

func TestStyles(t *testing.T) {
	th := theme.Dark()
	for level, want := range map[glance.Level]string{
		glance.Plain: th.Dim.Render("x"), glance.Good: th.Good.Render("x"), glance.Warn: th.Warn.Render("x"), glance.Bad: th.Bad.Render("x"),
	} {
		if got := level.Style(th).Render("x"); got != want {
			t.Errorf("level %d: %q, not %q", level, got, want)
		}
	}
}
