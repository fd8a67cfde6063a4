package doctor

import (
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

const (
	here    = "4210c0de-0001-4002-8000-000000000001"
	there   = "dec01042-0100-0240-8000-000000000001" // here, in the other byte order
	nowhere = "4210c0de-0000-4000-8000-00000000ffff"
)

func vm() inventory.VM {
	return inventory.VM{
		Name: "worker-1", UUID: here, Hostname: "worker-1.corp.example", Addresses: []string{"10.0.0.1", "fd00::1"},
		Region: "us", Zone: "us-west",
	}
}

func node() Node {
	return Node{
		Node:      match.Node{Name: "worker-1", SystemUUID: strings.ToUpper(here), ProviderID: "vsphere://" + here},
		Addresses: []string{"10.0.0.1"}, Region: "us", Zone: "us-west",
	}
}

// TestMatch changes one thing at a time of a node that is well, and wants one finding.
func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Node, *inventory.VM)
		part   bool // not all VMs could be read
		want   []string
	}{
		{name: "well", change: func(*Node, *inventory.VM) {}},
		{name: "swapped", change: func(n *Node, _ *inventory.VM) { n.SystemUUID, n.ProviderID = there, "vsphere://"+there }},
		{name: "swapped, not initialized", change: func(n *Node, _ *inventory.VM) {
			n.SystemUUID, n.ProviderID, n.Uninitialized = there, "", true
		}, want: []string{"node-uuid warning worker-1 has the UUID", "node-initialized warning worker-1 waits"}},
		{name: "by provider ID alone", change: func(n *Node, _ *inventory.VM) { n.SystemUUID = nowhere }},
		{name: "no VM", change: func(n *Node, vm *inventory.VM) { n.SystemUUID, n.ProviderID, vm.Hostname = nowhere, "", "" }, want: []string{
			"nodes error 1 of 1 nodes have a system UUID that is no VM's: worker-1 (" + nowhere,
		}},
		{name: "by hostname", change: func(n *Node, _ *inventory.VM) { n.SystemUUID, n.ProviderID = nowhere, "" }, want: []string{"node-initialized warning has no provider ID"}},
		{name: "two of one hostname", change: func(n *Node, vm *inventory.VM) {
			n.SystemUUID, n.ProviderID, n.Name, vm.Hostname = "", "", "twin", "twin"
		}, want: []string{
			"nodes error 1 of 1 nodes match several VMs: twin (hostname twin)",
		}},
		{name: "of another VM that is there", change: func(n *Node, _ *inventory.VM) { n.ProviderID = "vsphere://4210c0de-0000-4000-8000-000000000002" }, want: []string{
			"node-provider-id error and the VM's is vsphere://" + here,
		}},
		{name: "no VM that could be read", change: func(n *Node, _ *inventory.VM) { n.SystemUUID, n.ProviderID = nowhere, "" }, part: true, want: []string{
			"nodes warning 1 of 1 nodes have none of the VMs that could be read",
		}},
		{name: "made a template", change: func(_ *Node, vm *inventory.VM) { vm.Template = true }},
		{name: "template", change: func(n *Node, vm *inventory.VM) { n.ProviderID, vm.Template = "", true }, want: []string{"nodes error no VM's"}},
		{name: "no UUID", change: func(n *Node, vm *inventory.VM) { n.SystemUUID, n.ProviderID, vm.UUID, vm.Hostname = "", "", "", "" }, want: []string{"nodes error no VM's"}},
		{name: "of another VM", change: func(n *Node, _ *inventory.VM) { n.ProviderID = "vsphere://" + nowhere }, want: []string{
			"node-provider-id error worker-1 has provider ID vsphere://" + nowhere + ", and the VM's is vsphere://" + here,
		}},
		{name: "of another cloud", change: func(n *Node, _ *inventory.VM) { n.ProviderID = "aws:///i-1" }, want: []string{"node-provider-id error aws:///i-1"}},
		{name: "no provider ID", change: func(n *Node, _ *inventory.VM) { n.ProviderID = "" }, want: []string{"node-initialized warning has no provider ID"}},
		{name: "qualified", change: func(n *Node, vm *inventory.VM) { n.Name, vm.Hostname = "Worker-1.corp.example", "worker-1" }},
		{name: "another hostname", change: func(n *Node, _ *inventory.VM) { n.Name = "worker-10" }, want: []string{
			"node-hostname warning worker-10 is the VM whose guest calls itself worker-1.corp.example",
		}},
		{name: "silent guest", change: func(_ *Node, vm *inventory.VM) { vm.Hostname, vm.Addresses = "", nil }},
		{name: "another address", change: func(n *Node, _ *inventory.VM) { n.Addresses = append(n.Addresses, "10.0.0.9") }, want: []string{
			"node-addresses error worker-1 has address 10.0.0.9, and its VM reports 10.0.0.1, fd00::1",
		}},
		{name: "told another address", change: func(n *Node, _ *inventory.VM) { n.ProvidedIP = "10.0.0.9" }, want: []string{"node-addresses error 10.0.0.9"}},
		{name: "another zone", change: func(n *Node, _ *inventory.VM) { n.Zone = "us-east" }, want: []string{
			"node-zones warning worker-1 is labeled us/us-east, and its VM is in us/us-west",
		}},
		{name: "not labeled", change: func(n *Node, _ *inventory.VM) { n.Region, n.Zone = "", "" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n, m := node(), vm()
			tc.change(&n, &m)
			c := Cluster{Name: "prod", Nodes: []Node{n}}
			for _, f := range c.match([]inventory.VM{m, {Name: "other", UUID: "4210c0de-0000-4000-8000-000000000002", Hostname: "twin"}}, !tc.part) {
				if f.Cluster != "prod" {
					t.Errorf("%+v is of no cluster", f)
				}
				if f.Level == OK {
					continue
				}
				if f.Why == "" || f.Try == "" {
					t.Errorf("%+v does not say why, or what to try", f)
				}
				if len(tc.want) == 0 {
					t.Errorf("also %+v", f)
					continue
				}
				words := strings.SplitN(tc.want[0], " ", 3)
				if f.ID != words[0] || string(f.Level) != words[1] || !strings.Contains(f.What, words[2]) {
					t.Errorf("found %+v, want %s", f, tc.want[0])
				}
				tc.want = tc.want[1:]
			}
			for _, w := range tc.want {
				t.Errorf("not found: %s", w)
			}
		})
	}
	if all := (&Cluster{Name: "empty"}).match(nil, true); len(all) != 1 || all[0].Level != Warning {
		t.Errorf("of a cluster without nodes: %+v", all)
	}
}
