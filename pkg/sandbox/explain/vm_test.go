package explain

import (
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

func vm(n Node, changes ...func(*VM)) VM {
	c := VM{Around: n.Around, VCenter: "us", Name: "w1", Node: &n}
	if len(n.VMs) > 0 {
		c.State = &n.VMs[0]
	}
	for _, change := range changes {
		change(&c)
	}
	return c
}

func TestVM(t *testing.T) {
	noRole := func(c *VM) { c.Node = nil }
	for _, tc := range []struct {
		name  string
		vm    VM
		ask   string
		level event.Level
		want  string
	}{
		{"on", vm(node()), "Is it on", event.Info, "yes"},
		{"off", vm(node(powerIs("off"), happened(aboutVM("command.power-off", "vm power-off w1", 0), aboutVM("vm.powered-off", "powered off", 1)))), "Why is it powered off", event.Warning, `since 11:59:59, because of the command "vm power-off w1"`},
		{"off from the start", vm(node(powerIs("off"))), "Why is it powered off", event.Warning, "from the start"},
		{"host lost", vm(node(machineIs(func(m *VMState) { m.HostConnection = "notResponding" }))), "Is it on", event.Error, "is the last that vCenter us knows"},
		{"orphaned", vm(node(machineIs(func(m *VMState) { m.Connection = "orphaned" }))), "Is it on", event.Error, "orphaned"},
		{"vCenter out", vm(node(machineIs(func(m *VMState) { m.Stale = errOut }))), "Is it on", event.Warning, "not known now"},
		{"template", vm(node(powerIs("off"), machineIs(func(m *VMState) { m.Template = true }))), "Why is it powered off", event.Warning, "template"},
		{"guest", vm(node()), "What does its guest", event.Info, "w1, 192.0.2.1"},
		{"guest of a VM that is off", vm(node(powerIs("off"))), "What does its guest", event.Info, "powered off does not"},
		{"silent guest", vm(node(machineIs(func(m *VMState) { m.Tools, m.Hostname, m.Addresses = false, "", nil }))), "What does its guest", event.Warning, "tools do not run"},
		{"nameless guest", vm(node(machineIs(func(m *VMState) { m.Hostname = "" }))), "What does its guest", event.Warning, "no hostname"},
		{"node", vm(node()), "Which node is it", event.Info, "node w1, which is ready"},
		{"node not ready", vm(node(unknownSince)), "Which node is it", event.Warning, "not all is well"},
		{"node of another", vm(node(machineIs(func(m *VMState) { m.UUID = uuid2 }))), "Which node is it", event.Error, "its kubelet registers as w1"},
		{"no node", vm(node(noNode)), "Why is it no node", event.Error, "has not registered"},
		{"no role", vm(node(), noRole), "Why is it no node", event.Info, "gives it no role"},
		{"place", vm(node()), "Which region and zone", event.Info, "region us and zone us-west"},
		{"disks", vm(node()), "Which disks", event.Info, "no, and none of them"},
		{"destroyed", vm(node(gone, noNode, happened(aboutVM("vm.destroyed", "", 0)))), "Why is it gone", event.Error, "destroyed at 11:59:59"},
		{"unregistered", vm(node(gone, happened(aboutVM("vm.unregistered", "", 0)))), "Why is it gone", event.Error, "its files stay"},
		{"gone or not", vm(node(gone, func(c *Node) { c.VCenters[0].Err = errOut })), "Why is it gone", event.Error, "not known"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, q := range tc.vm.Explain().Questions {
				if !strings.HasPrefix(q.Ask, tc.ask) {
					continue
				}
				if q.Level != tc.level || !strings.Contains(q.Answer, tc.want) {
					t.Errorf("%s %q; want %s %q", q.Level, q.Answer, tc.level, tc.want)
				}
				return
			}
			t.Errorf("no question %q", tc.ask)
		})
	}
}
