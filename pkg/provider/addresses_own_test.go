package provider

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// The Hostname address is the node's name unless the guest's hostname is the same name: a guest may report a name that was
// cut to 15 characters (rancher #50089, CAPV #1292), or that of the template (cross-cloud PR #153). kube-apiserver may dial
// by it (kubernetes #22770). findings/cpi.md A6.
func TestHostNameAddress(t *testing.T) {
	const u3 = "21222324-2526-2728-8090-a0b0c0d0e0f0"
	off := func(vm *inventory.VM) { vm.Power = "poweredOff" }
	for _, tc := range []struct {
		name, node, guest string
		others            []*inventory.VM
		want, reason      string
		notice            bool
	}{
		{"same", "n1", "n1", nil, "n1", "", false},
		{"another case", "n1", "N1", nil, "N1", "", false},
		{"full name of the guest", "n1", "n1.example.org", nil, "n1.example.org", "", false},
		{"full name of the node", "n1.example.org", "n1", nil, "n1", "", false},
		{"another domain", "n1.example.org", "n1.example.com", nil, "n1.example.org", "", false},
		{"cut, alone", "win-worker-pool-1", "WIN-WORKER-POOL", nil, "win-worker-pool-1", "", false},
		{"cut, shared", "win-worker-pool-1", "WIN-WORKER-POOL", []*inventory.VM{vmOf(t, "v2", u2, "win-worker-pool", "")}, "win-worker-pool-1", "GuestHostNameShared", false},
		{"shared, and the node's", "n1", "n1", []*inventory.VM{vmOf(t, "v2", u2, "n1", "")}, "n1", "GuestHostNameShared", true},
		{"shared with a template", "n1", "n1", []*inventory.VM{vmOf(t, "v2", u2, "n1", "", template)}, "n1", "", false},
		{"shared with a VM that is off", "n1", "n1", []*inventory.VM{vmOf(t, "v2", u2, "n1", "", off)}, "n1", "", false},
		{"shared with the same VM", "n1", "n1", []*inventory.VM{vmOf(t, "v2", u1, "n1", "")}, "n1", "", false},
		{"localhost", "n1", "localhost", nil, "n1", "GuestHostNameLocal", false},
		{"localhost with a domain, shared", "n1", "Localhost.localdomain", []*inventory.VM{vmOf(t, "v2", u2, "localhost.localdomain", "")}, "n1", "GuestHostNameLocal", false},
		{"name that is an address", "10.0.0.1", "n1", nil, "n1", "", false},
		{"name that is an address, shared", "10.0.0.1", "n1", []*inventory.VM{vmOf(t, "v2", u2, "n1", ""), vmOf(t, "v3", u3, "n1", "")}, "10.0.0.1", "GuestHostNameShared", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vm := vmOf(t, "v1", u1, tc.guest, "10.0.0.1")
			x := &listIndex{vms: append([]*inventory.VM{vm}, tc.others...)}
			list, warning, err := x.over("").selected(vm, node(tc.node, "", u1))
			if err != nil || list[0] != (corev1.NodeAddress{Type: corev1.NodeHostName, Address: tc.want}) {
				t.Errorf("%v, %v", list, err)
			}
			switch {
			case (tc.reason == "") != (warning == nil):
				t.Errorf("warning %v", warning)
			case warning != nil && (reasonOf(warning) != tc.reason || isNotice(warning, tc.reason) != tc.notice):
				t.Errorf("%s: %v", reasonOf(warning), warning)
			case warning != nil && tc.reason == "GuestHostNameShared" && !strings.Contains(warning.Error(), "v2 ("):
				t.Errorf("%v does not name the other VM", warning)
			}
			list, warning, err = x.over(ParityUpstream).selected(vm, node(tc.node, "", u1))
			if err != nil || list[0].Address != tc.guest || warning != nil {
				t.Errorf("upstream: %v, %v, %v", list, warning, err)
			}
		})
	}
}

const virtualIP = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: test}
spec:
  allowDuplicate: [address]
  vcenters:
    - name: us
      datacenters:
        - name: dc
          region: us
          zone: dc
          networks: [{name: Nodes, cidr: 10.20.0.0/24}]
          clusters: [{name: c, hosts: [{name: h1}]}]
          vms:
            - {name: cp-1, nics: [{network: Nodes, addresses: [10.20.0.250/32, 10.20.0.11/24]}]}
            - {name: cp-2, nics: [{network: Nodes, addresses: [10.20.0.250/32, 10.20.0.12/24]}]}
            - {name: clone-1, nics: [{network: Nodes, addresses: [10.20.0.20/24, 10.20.0.21/24]}]}
            - {name: clone-2, nics: [{network: Nodes, addresses: [10.20.0.20/24]}]}
    - name: eu
      datacenters: [{name: dc, hosts: [{name: h2}]}]
`

// A virtual IP that guests report is no node's address, and an address that two VMs report is one only where there is no
// other. Each is an Event on the node (findings/cpi.md A7, t9-vip.yaml; kubernetes/cloud-provider-vsphere PR #556).
func TestVirtualAddress(t *testing.T) {
	for name, tc := range map[string]struct{ want, upstream, kind, reason, text string }{
		"cp-1":    {"10.20.0.11", "10.20.0.250", corev1.EventTypeNormal, "VirtualAddress", "10.20.0.250/32 is beside another address of its adapter"},
		"cp-2":    {"10.20.0.12", "10.20.0.250", corev1.EventTypeNormal, "VirtualAddress", "cp-1 ("},
		"clone-1": {"10.20.0.21", "10.20.0.20", corev1.EventTypeNormal, "AddressShared", "clone-2 ("},
		"clone-2": {"10.20.0.20", "10.20.0.20", corev1.EventTypeWarning, "AddressShared", "clone-1 ("},
	} {
		for _, parity := range []Parity{"", ParityUpstream} {
			t.Run(name+string(parity), func(t *testing.T) {
				t.Parallel()
				w := startWith(t, setup{topology: virtualIP, options: func(o *Options) { o.Parity = parity }})
				m, err := w.InstanceMetadata(t.Context(), uninitialized(node(name, "", "")))
				if err != nil {
					t.Fatal(err)
				}
				want := tc.want
				if parity == ParityUpstream {
					want = tc.upstream
				}
				if !slices.Contains(m.NodeAddresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: want}) {
					t.Errorf("want %s: %v", want, m.NodeAddresses)
				}
				if parity == ParityUpstream {
					return
				}
				w.expectEvent(t, name, tc.reason, tc.text)
				if e := w.eventsOf(t, name)[0]; e.Type != tc.kind {
					t.Errorf("%s event: %s", e.Type, e.Message)
				}
			})
		}
	}
}

// An initialized node keeps its address when its VM gets another one that comes first (findings/cpi.md A7, t2b and t2c).
func TestAddressStays(t *testing.T) {
	vm := vmOf(t, "v1", u1, "n1", "10.20.0.250")
	vm.Adapters[0].Addresses = append(vm.Adapters[0].Addresses, vmOf(t, "v", "", "", "10.20.0.18").Adapters[0].Addresses...)
	n := node("n1", "vsphere://"+u1, u1)
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.20.0.18"}, {Type: corev1.NodeExternalIP, Address: "10.20.0.18"}}
	internal := func(parity Parity, n *corev1.Node) string {
		list, err := (&listIndex{vms: []*inventory.VM{vm}}).over(parity).addresses(vm, n)
		if err != nil {
			t.Fatal(err)
		}
		return list[1].Address
	}
	if got := internal("", n); got != "10.20.0.18" {
		t.Errorf("an initialized node gets %s", got)
	}
	if got := internal("", uninitialized(n.DeepCopy())); got != "10.20.0.250" {
		t.Errorf("a new node gets %s", got)
	}
	if got := internal(ParityUpstream, n); got != "10.20.0.250" {
		t.Errorf("upstream: %s", got)
	}
	vm.Adapters[0].Addresses = vm.Adapters[0].Addresses[:1]
	if got := internal("", n); got != "10.20.0.250" {
		t.Errorf("after the address is gone: %s", got)
	}
}
