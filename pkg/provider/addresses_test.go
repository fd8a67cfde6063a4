package provider

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"
	v1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// nic is "network address address…"; a network that begins with "-" is that of an adapter which is not hardware.
func nics(specs ...string) []types.GuestNicInfo {
	var list []types.GuestNicInfo
	for _, spec := range specs {
		f := strings.Fields(spec)
		n := types.GuestNicInfo{Network: f[0], DeviceConfigId: 4000, IpAddress: f[1:]}
		if name, ok := strings.CutPrefix(f[0], "-"); ok {
			n.Network, n.DeviceConfigId = name, -1
		}
		list = append(list, n)
	}
	return list
}

func subnets(cidrs ...string) []netip.Prefix {
	var ps []netip.Prefix
	for _, c := range cidrs {
		ps = append(ps, netip.MustParsePrefix(c))
	}
	return ps
}

func TestAddresses(t *testing.T) {
	v4, v6 := []config.IPFamily{config.IPv4}, []config.IPFamily{config.IPv6}
	dual := []config.IPFamily{config.IPv4, config.IPv6}
	two := nics("lan 10.0.0.1 10.0.0.2 2001:db8::1", "wan 203.0.113.9 2001:db8:f::9")
	for _, tc := range []struct {
		name     string
		nics     []types.GuestNicInfo
		cfg      config.Nodes
		families []config.IPFamily
		want     string // "internal/external", per family
		err      string
	}{
		{"first of all", two, config.Nodes{}, v4, "10.0.0.1/10.0.0.1", ""},
		{"ipv6", two, config.Nodes{}, v6, "2001:db8::1/2001:db8::1", ""},
		{"dual stack", two, config.Nodes{}, dual, "10.0.0.1/10.0.0.1 2001:db8::1/2001:db8::1", ""},
		{"dual stack, ipv6 first", two, config.Nodes{}, []config.IPFamily{config.IPv6, config.IPv4}, "2001:db8::1/2001:db8::1 10.0.0.1/10.0.0.1", ""},
		{"dual stack, one missing", nics("lan 10.0.0.1"), config.Nodes{}, dual, "", "no ipv6 address"},
		{"subnets", two, config.Nodes{InternalSubnets: subnets("10.0.0.2/32"), ExternalSubnets: subnets("203.0.113.0/24")}, v4, "10.0.0.2/203.0.113.9", ""},
		{"first subnet counts before first address", two, config.Nodes{InternalSubnets: subnets("203.0.113.0/24", "10.0.0.0/8")}, v4, "203.0.113.9/", ""},
		{"subnet of one family only", two, config.Nodes{InternalSubnets: subnets("10.0.0.0/8")}, dual, "10.0.0.1/ 2001:db8::1/2001:db8::1", ""},
		{"subnet finds one alone", two, config.Nodes{ExternalSubnets: subnets("203.0.113.0/24")}, v4, "/203.0.113.9", ""},
		{"subnet without a match is ignored", two, config.Nodes{InternalSubnets: subnets("192.0.2.0/24")}, v4, "10.0.0.1/10.0.0.1", ""},
		{"networks", two, config.Nodes{InternalVMNetwork: "LAN", ExternalVMNetwork: "Wan"}, v4, "10.0.0.1/203.0.113.9", ""},
		{"subnet before network", two, config.Nodes{InternalSubnets: subnets("10.0.0.2/32"), InternalVMNetwork: "wan"}, v4, "10.0.0.2/", ""},
		{"network where the subnet has no match", two, config.Nodes{InternalSubnets: subnets("192.0.2.0/24"), InternalVMNetwork: "wan"}, v4, "203.0.113.9/", ""},
		{"one network absent", two, config.Nodes{InternalVMNetwork: "nowhere"}, v4, "10.0.0.1/10.0.0.1", ""},
		{"one of two networks absent", two, config.Nodes{InternalVMNetwork: "nowhere", ExternalVMNetwork: "wan"}, v4, "/203.0.113.9", ""},
		{"both networks absent", two, config.Nodes{InternalVMNetwork: "x", ExternalVMNetwork: "y"}, v4, "", `neither of the networks "x" and "y"`},
		{"excluded", two, config.Nodes{ExcludeInternalSubnets: subnets("10.0.0.1/32"), ExcludeExternalSubnets: subnets("10.0.0.0/8")}, v4, "10.0.0.2/203.0.113.9", ""},
		{"exclusion before subnet", two, config.Nodes{InternalSubnets: subnets("10.0.0.0/8"), ExcludeInternalSubnets: subnets("10.0.0.1/32")}, v4, "10.0.0.2/", ""},
		{"exclusion before network", two, config.Nodes{InternalVMNetwork: "lan", ExcludeInternalSubnets: subnets("10.0.0.0/8")}, v4, "203.0.113.9/10.0.0.1", ""},
		{"all excluded", two, config.Nodes{ExcludeInternalSubnets: subnets("0.0.0.0/0"), ExcludeExternalSubnets: subnets("0.0.0.0/0")}, v4, "", "no ipv4 address"},
		{"pseudo adapters and local addresses", nics("-cni0 10.244.0.1", "lan fe80::1 169.254.0.1 127.0.0.1 0.0.0.0 :: junk 10.0.0.7"), config.Nodes{}, v4, "10.0.0.7/10.0.0.7", ""},
		{"nothing but pseudo adapters", nics("-cni0 10.244.0.1"), config.Nodes{}, v4, "", "no address but local ones"},
		{"no adapters", nil, config.Nodes{}, v4, "", "no network adapters"},
		{"ipv4 in ipv6", nics("lan ::ffff:10.0.0.1"), config.Nodes{}, v4, "10.0.0.1/10.0.0.1", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vm := &inventory.VM{Name: "vm", HostName: "Node-1", Adapters: guest.Adapters(tc.nics)}
			got, err := addresses(vm, tc.cfg, tc.families)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("got %v, %v, want an error with %q", got, err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := []v1.NodeAddress{{Type: v1.NodeHostName, Address: "Node-1"}}
			for pair := range strings.FieldsSeq(tc.want) {
				internal, external, _ := strings.Cut(pair, "/")
				if internal != "" {
					want = append(want, v1.NodeAddress{Type: v1.NodeInternalIP, Address: internal})
				}
				if external != "" {
					want = append(want, v1.NodeAddress{Type: v1.NodeExternalIP, Address: external})
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := addresses(&inventory.VM{Adapters: guest.Adapters(two)}, config.Nodes{}, v4); err == nil || !strings.Contains(err.Error(), "no hostname") {
		t.Errorf("without hostname: %v", err)
	}
}

func TestInstanceType(t *testing.T) {
	for _, tc := range []struct {
		vm   inventory.VM
		want string
	}{
		{inventory.VM{NumCPU: 4, MemoryMB: 8192, GuestID: "ubuntu64Guest"}, "vsphere-vm.cpu-4.mem-8gb.os-ubuntu"},
		{inventory.VM{NumCPU: 1, MemoryMB: 1535, GuestID: "rhel8_64Guest"}, "vsphere-vm.cpu-1.mem-1gb.os-rhel8"},
		{inventory.VM{NumCPU: 2, MemoryMB: 512, GuestID: "debian10_64Guest"}, "vsphere-vm.cpu-2.mem-0gb.os-debian10"},
		{inventory.VM{GuestID: "debian12_64Guest"}, "vsphere-vm.cpu-0.mem-0gb.os-unknown"},
		{inventory.VM{GuestID: "vmwarePhoton64Guest"}, "vsphere-vm.cpu-0.mem-0gb.os-photon"},
		{inventory.VM{GuestID: "other4xLinux64Guest"}, "vsphere-vm.cpu-0.mem-0gb.os-unknown"},
		{inventory.VM{GuestID: "centos7_64Guest"}, "vsphere-vm.cpu-0.mem-0gb.os-centos7"},
		{inventory.VM{GuestID: "windows9Server64Guest"}, "vsphere-vm.cpu-0.mem-0gb.os-win10server"},
		{inventory.VM{}, "vsphere-vm.cpu-0.mem-0gb.os-unknown"},
	} {
		if got := instanceType(&tc.vm); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.vm.GuestID, got, tc.want)
		}
	}
}
