package provider

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/address"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// addressed returns a running VM with adapters on networks "lan" and "wan".
func addressed(lan, wan string) *inventory.VM {
	vm := &inventory.VM{VCenter: "vc", Name: "vm-1", HostName: "Node-1", Power: types.VirtualMachinePowerStatePoweredOn}
	vm.Ref.Value = "vm-42"
	vm.Adapters = guest.Adapters([]types.GuestNicInfo{
		{Network: "lan", DeviceConfigId: 4000, IpAddress: strings.Fields(lan)},
		{Network: "wan", DeviceConfigId: 4001, IpAddress: strings.Fields(wan)},
	})
	return vm
}

// hosting returns instances for a vCenter with these rules.
func hosting(nodes config.Nodes, parity Parity, families ...config.IPFamily) instances {
	return instances{inv: &listIndex{}, choices: choicesOf(parity), cfg: &config.Config{
		Nodes: nodes, VCenters: []config.VCenter{{Tenant: "other"}, {Tenant: "vc", IPFamilies: families}},
	}}
}

func nodeWithIP(ip string) *corev1.Node {
	n := &corev1.Node{}
	if ip != "" {
		n.Annotations = map[string]string{"alpha.kubernetes.io/provided-node-ip": ip}
	}
	return n
}

func nodeAddresses(pairs ...string) []corev1.NodeAddress {
	list := []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "Node-1"}}
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: pairs[i]}, corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: pairs[i+1]})
	}
	return list
}

func TestAddresses(t *testing.T) {
	vm := addressed("10.0.0.100 10.0.0.1 2001:db8::1", "203.0.113.9")
	static := *vm
	static.Static = []netip.Addr{netip.MustParseAddr("203.0.113.9")}
	networks := config.Nodes{InternalVMNetwork: "lan", ExternalVMNetwork: "wan"}
	for _, tc := range []struct {
		name   string
		i      instances
		vm     *inventory.VM
		nodeIP string
		want   []corev1.NodeAddress
	}{
		{"the first", hosting(config.Nodes{}, ""), vm, "", nodeAddresses("10.0.0.100", "10.0.0.100")},
		{"families in their order", hosting(networks, "", config.IPv4), vm, "", nodeAddresses("10.0.0.100", "203.0.113.9")},
		{"two families", hosting(config.Nodes{}, "", config.IPv6, config.IPv4), vm, "", nodeAddresses("2001:db8::1", "2001:db8::1", "10.0.0.100", "10.0.0.100")},
		{"static", hosting(config.Nodes{}, ""), &static, "", nodeAddresses("203.0.113.9", "203.0.113.9")},
		{"node ip", hosting(networks, ""), vm, "10.0.0.1", nodeAddresses("10.0.0.1", "203.0.113.9")},
		{"node ips", hosting(config.Nodes{}, "", config.IPv4, config.IPv6), vm, "2001:db8::1, 10.0.0.1", nodeAddresses("10.0.0.1", "10.0.0.1", "2001:db8::1", "2001:db8::1")},
		{"node ip that is none", hosting(networks, ""), vm, "eth0", nodeAddresses("10.0.0.100", "203.0.113.9")},
		{"node ip, as upstream", hosting(networks, ParityUpstream), vm, "10.0.0.1", nodeAddresses("10.0.0.100", "203.0.113.9")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := tc.i.addresses(tc.vm, nodeWithIP(tc.nodeIP))
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

func TestAddressesProblems(t *testing.T) {
	vm := addressed("10.0.0.1 10.0.0.2", "203.0.113.9")
	silent := *vm
	silent.HostName, silent.Power = "", types.VirtualMachinePowerStatePoweredOff
	dark := *vm
	dark.Adapters = nil
	unreadable := *vm
	unreadable.StaticErr = errors.New("guestinfo.metadata: gone")
	elsewhere := *vm
	elsewhere.VCenter = "gone"
	subnet := config.Nodes{InternalSubnets: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}
	inside := config.Nodes{InternalSubnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	for _, tc := range []struct {
		name    string
		i       instances
		vm      *inventory.VM
		nodeIP  string
		failed  bool
		reason  address.Reason // of the error, or of the warning
		message string
	}{
		{"no hostname", hosting(config.Nodes{}, ""), &silent, "", true, address.GuestNotReporting, "vm vm-1 (vm-42 in vcenter vc) does not run: it is off"},
		{"no adapters", hosting(config.Nodes{}, ""), &dark, "", true, address.GuestNotReporting, "vm vm-1 (vm-42 in vcenter vc) (poweredOn): guest reports no network adapters"},
		{"no address of a family", hosting(config.Nodes{}, "", config.IPv6), vm, "", true, address.IPFamilyMissing, "no usable ipv6 address"},
		{"metadata unreadable", hosting(config.Nodes{}, ""), &unreadable, "", true, address.StaticUnreadable, "guestinfo.metadata: gone"},
		{"vcenter not configured", hosting(config.Nodes{}, ""), &elsewhere, "", true, "", "vcenter is not configured"},
		{"subnet unmatched", hosting(subnet, ""), vm, "", false, address.SubnetUnmatched, "vm vm-1 (vm-42 in vcenter vc): no ipv4 address"},
		{"two warnings", hosting(subnet, ""), vm, "10.0.0.9", false, address.SubnetUnmatched, "; the kubelet's node IP 10.0.0.9 is none"},
		{"internal subnet alone", hosting(inside, ""), vm, "", false, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list, warning, err := tc.i.selected(tc.vm, nodeWithIP(tc.nodeIP))
			if tc.failed != (err != nil) || tc.failed != (list == nil) {
				t.Fatalf("got %v, %v", list, err)
			}
			said := err
			if !tc.failed {
				said = warning
			}
			if tc.message == "" {
				if said != nil {
					t.Errorf("got %v, want nothing", said)
				}
				return
			}
			var p *address.Problem
			if !errors.As(said, &p) {
				p = &address.Problem{}
			}
			if p.Reason != tc.reason || !strings.Contains(said.Error(), tc.message) || strings.Contains(said.Error(), "\n") {
				t.Errorf("got %s: %v, want %s: %s", p.Reason, said, tc.reason, tc.message)
			}
		})
	}
}

// A warning about addresses is reported although the node is initialized.
func TestMetadataWithAddressWarning(t *testing.T) {
	vm := addressed("10.0.0.1", "")
	vm.UUID, _ = match.ParseUUID(u1)
	x := &listIndex{vms: []*inventory.VM{vm}}
	i := hosting(config.Nodes{InternalVMNetwork: "dmz"}, "")
	i.inv = x
	m, err := i.metadata(node("node-1", "vsphere://"+u1, ""))
	if m == nil || reasonOf(err) != string(address.VMNetworkUnmatched) || !strings.HasPrefix(err.Error(), `node "node-1": vm vm-1`) {
		t.Fatalf("got %v, %v", m, err)
	}
	if diff := cmp.Diff(nodeAddresses("10.0.0.1", "10.0.0.1"), m.NodeAddresses); diff != "" {
		t.Error(diff)
	}
}

func TestProvidedNodeIPs(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "10.0.0.1": {"10.0.0.1"}, "10.0.0.1, fd00::1": {"10.0.0.1", "fd00::1"}, "::ffff:10.0.0.1": {"10.0.0.1"}, "x,10.0.0.1,": {"10.0.0.1"},
	} {
		var ips []netip.Addr
		for _, s := range want {
			ips = append(ips, netip.MustParseAddr(s))
		}
		if diff := cmp.Diff(ips, providedNodeIPs(nodeWithIP(text)), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}
