package explain

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Which component set the taints of a node, which faults affect it, and why a node does not exist.
func TestTaintedAndAbsentNodes(t *testing.T) {
	checkNodes(t, []nodeCase{
		{"shutdown taint", node(powerIs("off"), taintedWith("node.cloudprovider.kubernetes.io/shutdown")), "Why does it have the taint node.cloudprovider.kubernetes.io/shutdown", event.Warning, "the VM is off or suspended", "vm power-on w1"},
		{"shutdown taint, and on", node(taintedWith("node.cloudprovider.kubernetes.io/shutdown")), "Why does it have the taint node.cloudprovider.kubernetes.io/shutdown", event.Warning, "VM us/w1 is on by now", ""},
		{"out of service", node(taintedWith("node.kubernetes.io/out-of-service")), "Why does it have the taint node.kubernetes.io/out-of-service", event.Warning, "a person put it there", "--remove"},
		{"control plane", node(taintedWith("node-role.kubernetes.io/control-plane")), "Why does it have the taint node-role", event.Info, "it belongs there", ""},
		{"by hand", node(taintedWith("example.org/x")), "Why does it have the taint example.org/x", event.Warning, "another client did", "example.org/x-"},
		{"by a fault", node(taintedWith(uninitialized), func(c *Node) {
			c.Leases = []api.Lease{{ID: "f1", Fault: "node.uninitialized", State: "active", Targets: []api.LeaseTarget{{Kind: "Node", Name: "w1"}}}}
		}), "Why does it have the taint " + uninitialized, event.Warning, "fault f1 put it there", "heal f1"},

		{"faults", node(func(c *Node) {
			c.Leases = []api.Lease{
				{ID: "f1", Fault: "zone.outage", State: "active", Targets: []api.LeaseTarget{{Kind: "Zone", Name: "us-west", Does: "x"}}},
				{ID: "f2", Fault: "vm.hang", State: "healed", Targets: []api.LeaseTarget{{Kind: "VM", VCenter: "us", Name: "w1"}}},
				{ID: "f3", Fault: "vm.hang", State: "active", Targets: []api.LeaseTarget{{Kind: "VM", VCenter: "eu", Name: "w1"}}},
				{ID: "f4", Fault: "host.crash", State: "active", Targets: []api.LeaseTarget{{Kind: "Host", VCenter: "us", Name: "esx-1"}}},
			}
		}), "Which faults", event.Warning, "faults f1, zone.outage", "heal f1 f4"},

		{"deleted", node(noNode, gone, happened(
			aboutNode("node.registered", "", 0), aboutVM("vm.destroyed", "", 0), aboutNode("ccm.vm-gone", "every vcenter was asked", 2), aboutNode("node.deleted", "", 2),
		)), "Why was it deleted", event.Error, "its VM is gone: the CCM asked every vCenter", ""},
		{"deleted by hand, its VM once gone", node(noNode, happened(
			aboutNode("node.registered", "", 0), aboutNode("ccm.vm-gone", "", 0), aboutNode("node.deleted", "", 0), aboutNode("node.registered", "", 0), aboutNode("node.deleted", "", 0),
		)), "Why was it deleted", event.Error, "another client deleted its Node object", "vm reset w1"},
		{"deleted by hand", node(noNode, happened(aboutNode("node.registered", "", 0), aboutNode("node.deleted", "", 0))), "Why was it deleted", event.Error, "another client deleted its Node object: its VM us/w1 exists", "vm reset w1"},
		{"deleted by a fault", node(noNode, happened(
			event.Event{Kind: "fault.injected", Message: "f1: node.object-deleted on us/w1"}, aboutNode("node.deleted", "", 1),
		)), "Why was it deleted", event.Error, "a fault deleted its Node object", "vm reset w1"},
		{"never came", node(noNode, powerIs("off")), "Why is there no such node", event.Error, "is powered off, and no kubelet runs", "vm power-on w1"},
		{"no role", node(noNode, func(c *Node) { c.Bound, c.VMs[0].Role = "", "" }), "Why is there no such node", event.Info, "gives it no role", ""},
		{"rival", node(noNode, another("w2", uuid2, "w1")), "Why is there no such node", event.Error, "us/w2 goes by its name, too", ""},
	})
}
