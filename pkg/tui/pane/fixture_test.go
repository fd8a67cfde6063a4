package pane_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

var sizes = [][2]int{{80, 21}, {100, 27}, {140, 42}, {200, 57}}

// frames compares a panel at all sizes, and checks that it fills any other.
func frames(t *testing.T, name string, p panel.Panel) {
	t.Helper()
	for _, s := range sizes {
		p.SetSize(s[0], s[1])
		tuitest.Fills(t, p.View(), s[0], s[1])
		tuitest.Golden(t, fmt.Sprintf("%s-%dx%d", name, s[0], s[1]), p.View())
	}
	for w := 1; w < 45; w += 3 {
		for h := 1; h < 9; h++ {
			p.SetSize(w, h)
			tuitest.Fills(t, p.View(), w, h)
		}
	}
}

// colored compares it in both themes with colors.
func colored(t *testing.T, name string, p panel.Panel) {
	t.Helper()
	p.SetSize(80, 21)
	for _, th := range []*theme.Theme{theme.Dark(), theme.Light()} {
		p.SetTheme(th)
		tuitest.Colored(t, name+"-"+th.Name, p.View())
	}
	p.SetTheme(theme.Mono())
}

// seen is what a panel shows, without colors and the spaces at the ends of lines.
func seen(p panel.Panel) string {
	lines := strings.Split(ansi.Strip(p.View()), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func press(p panel.Panel, names ...string) (intent.Intent, bool) {
	return tuitest.Press(p.Handle, names...)
}

// enabled are the keys in the help of a panel, as they are now.
func enabled(p panel.Panel) string {
	var all []string
	for _, b := range p.Bindings() {
		if b.Enabled() {
			all = append(all, b.Help().Key)
		}
	}
	return strings.Join(all, " ")
}

func subject() api.Subject { return api.Subject{Kind: "node", Name: "worker-west-1"} }

func inspection() api.Inspection {
	node := `apiVersion: v1
kind: Node
metadata:
  annotations:
    csi.volume.kubernetes.io/nodeid: '{"csi.vsphere.vmware.com":"worker-west-1"}'
    note: |
      not: a key
      # nor a comment
  labels:
    "topology.kubernetes.io/zone": us-west
  name: worker-west-1
spec:
  # by the cloud controller manager
  providerID: vsphere://3cb28435-2e58-5dc0-949a-68a429bf0228
  taints:
  - effect: NoSchedule
    key: node.cloudprovider.kubernetes.io/shutdown
status:
  addresses:
  - address: 198.18.0.12
    type: InternalIP
`
	for i := range 12 {
		node += fmt.Sprintf("  field%d: value %d\n", i, i)
	}
	return api.Inspection{Parts: []api.Part{
		{Title: "Node worker-west-1", YAML: node},
		{Title: "VM worker-west-1 of vCenter us", YAML: "config:\n  uuid: 3cb28435-2e58-5dc0-949a-68a429bf0228\nruntime:\n  powerState: poweredOff\n  host: esx-west-2\n"},
	}}
}

func explanation() api.Explanation {
	at := time.Date(2026, 9, 1, 12, 0, 20, 0, time.UTC)
	e := func(seq uint64, ms int, plane event.Plane, l event.Level, kind, name, message string, cause uint64) event.Event {
		return event.Event{
			Seq: seq, Time: at.Add(time.Duration(ms) * time.Millisecond), Plane: plane, Level: l, Message: message, Cause: cause,
			Object: event.Object{Kind: kind, VCenter: map[string]string{"VM": "us"}[kind], Name: name},
		}
	}
	const node = "worker-west-1"
	return api.Explanation{
		Subject: subject(), Summary: "not ready, because its VM is off",
		Questions: []api.Question{
			{
				Ask: "Why is it not ready?", Answer: "Its VM is powered off: no kubelet reports for it.", Level: event.Error,
				Try: "vsphere-sandbox fault heal f1\nvsphere-sandbox vm power-on worker-west-1",
				Evidence: []api.Evidence{
					{What: "condition Ready", Found: "Unknown since 12:00:24: kubelet stopped posting node status", Verdict: "wrong", Source: "API server", Event: 94},
					{What: "power of VM worker-west-1", Found: "poweredOff", Verdict: "wrong", Source: "vCenter us"},
					{What: "lease f1", Found: "vm.power-off for 25s", Source: "event log", Event: 88},
				},
			},
			{
				Ask: "Why has it no zone?", Answer: "No tag of category k8s-zone is on anything above its VM.", Level: event.Warning,
				Evidence: []api.Evidence{
					{What: "tag category k8s-zone", Found: "is there, with tags us-west, us-east", Verdict: "ok", Source: "vCenter us"},
					{What: "host /dcwest/host/west/esx-west-2", Verdict: "missing", Source: "vCenter us"},
					{What: "CCM's calls", Found: "could not be asked", Verdict: "unknown", Source: "log of ccm"},
				},
			},
			{Ask: "Is it initialized?", Answer: "Yes: the cloud controller manager has set its providerID.", Level: event.Info},
		},
		Events: []event.Event{
			e(88, 0, event.PlaneSandbox, event.Warning, "VM", node, "f1: vm.power-off on us/worker-west-1 for 25s", 0),
			e(89, 20, event.PlaneVSphere, event.Warning, "VM", node, "powered off", 88),
			e(90, 40, event.PlaneSandbox, event.Info, "Node", node, "node/worker-west-1: stopped", 89),
			e(94, 4750, event.PlaneKubernetes, event.Warning, "Node", node, "Ready=Unknown: no heartbeat within the grace period", 90),
			e(95, 4760, event.PlaneKubernetes, event.Error, "Node", node, "taint node.kubernetes.io/unreachable", 94),
		},
	}
}
