package provider

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodehelpers "k8s.io/cloud-provider/node/helpers"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// The stock node controller initializes a node only if its --node-ip is among the addresses. With a virtual IP in front (such as
// kube-vip's), upstream selects others, and the node is never initialized: kubernetes/cloud-provider-vsphere#614, #1455, #1826.
func TestNodeIPSuitsNodeController(t *testing.T) {
	vm := addressed("10.0.0.100 10.0.0.1 2001:db8::100 2001:db8::1", "203.0.113.9")
	dual := []config.IPFamily{config.IPv4, config.IPv6}
	for _, tc := range []struct {
		nodeIP   string
		nodes    config.Nodes
		families []config.IPFamily
	}{
		{"10.0.0.1", config.Nodes{}, nil},
		{"10.0.0.1", config.Nodes{InternalVMNetwork: "lan", ExternalVMNetwork: "wan"}, nil},
		{"10.0.0.1", config.Nodes{InternalVMNetwork: "wan", ExternalVMNetwork: "wan"}, nil},
		{"2001:db8::1", config.Nodes{}, []config.IPFamily{config.IPv6}},
		{"10.0.0.1,2001:db8::1", config.Nodes{}, dual},
		{"2001:db8::1", config.Nodes{InternalVMNetwork: "lan"}, dual},
	} {
		selected := func(p Parity) ([]corev1.NodeAddress, error) {
			list, err := hosting(tc.nodes, p, tc.families...).addresses(vm, nodeWithIP(tc.nodeIP))
			if err != nil {
				t.Fatal(err)
			}
			return nodehelpers.GetNodeAddressesFromNodeIP(tc.nodeIP, list)
		}
		list, err := selected("")
		first, _, _ := strings.Cut(tc.nodeIP, ",")
		if err != nil || !slices.Contains(list, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: first}) {
			t.Errorf("node ip %s: %v, %v", tc.nodeIP, list, err)
		}
		if list, err := selected(ParityUpstream); err == nil {
			t.Errorf("node ip %s: upstream's rules yield it too: %v", tc.nodeIP, list)
		}
	}
}
