package guest_test

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
)

var byValue = cmpopts.EquateComparable(netip.Addr{})

func addrs(texts ...string) []netip.Addr {
	var ips []netip.Addr
	for _, t := range texts {
		ips = append(ips, netip.MustParseAddr(t))
	}
	return ips
}

func TestAdapters(t *testing.T) {
	got := guest.Adapters([]types.GuestNicInfo{
		{Network: "lan", DeviceConfigId: 4000, IpAddress: []string{"10.0.0.1", "::ffff:10.0.0.2", "2001:db8::1%3", "fe80::1%eth0", "010.0.0.3", "junk", ""}},
		{DeviceConfigId: -1, IpAddress: []string{"10.244.0.1"}},
		{Network: "dark", DeviceConfigId: 4001},
	})
	want := []guest.Adapter{
		{Network: "lan", Addresses: addrs("10.0.0.1", "10.0.0.2", "2001:db8::1", "fe80::1")},
		{Virtual: true, Addresses: addrs("10.244.0.1")},
		{Network: "dark"},
	}
	if diff := cmp.Diff(want, got, byValue); diff != "" {
		t.Error(diff)
	}
	if got := guest.Adapters(nil); got != nil {
		t.Errorf("none: %v", got)
	}
}

func TestUsable(t *testing.T) {
	for _, ip := range addrs("10.0.0.1", "203.0.113.1", "2001:db8::1", "fd00::1") {
		if !guest.Usable(ip) {
			t.Errorf("%s is not usable", ip)
		}
	}
	for _, ip := range addrs("0.0.0.0", "::", "127.0.0.1", "127.1.2.3", "::1", "169.254.3.4", "fe80::1", "224.0.0.1", "239.1.1.1", "ff02::1") {
		if guest.Usable(ip) {
			t.Errorf("%s is usable", ip)
		}
	}
	if guest.Usable(netip.Addr{}) {
		t.Error("no address is usable")
	}
}

// A virtual IP of kube-vip has a prefix of 32 bits beside the subnet of the VM's own address
// (kubernetes/cloud-provider-vsphere PR #556).
func TestAdaptersFloating(t *testing.T) {
	for _, tc := range []struct{ name, addresses, want string }{
		{"virtual ip", "10.20.0.250/32 10.20.0.11/24", "10.20.0.250"},
		{"virtual ip last, of another subnet", "10.20.0.11/24 192.0.2.7/32", "192.0.2.7"},
		{"two", "10.20.0.250/32 10.20.0.11/24 10.20.0.251/32", "10.20.0.250 10.20.0.251"},
		{"no subnet", "10.20.0.250/32 10.20.0.251/32", ""},
		{"alone", "10.20.0.250/32", ""},
		{"beside a local one", "10.20.0.250/32 169.254.1.1/16", ""},
		{"beside IPv6", "10.20.0.250/32 2001:db8::1/64", ""},
		{"DHCPv6 beside SLAAC", "2001:db8::15/128 2001:db8::1/64", ""},
		{"prefix unknown", "10.20.0.250/0 10.20.0.11/24", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			nic := types.GuestNicInfo{Network: "lan", DeviceConfigId: 4000, IpConfig: &types.NetIpConfigInfo{}}
			for text := range strings.FieldsSeq(tc.addresses) {
				ip, bits, _ := strings.Cut(text, "/")
				n, err := strconv.Atoi(bits)
				if err != nil {
					t.Fatal(err)
				}
				nic.IpAddress = append(nic.IpAddress, ip)
				nic.IpConfig.IpAddress = append(nic.IpConfig.IpAddress, types.NetIpConfigInfoIpAddress{IpAddress: ip, PrefixLength: int32(n)}) //nolint:gosec // at most 128
			}
			if diff := cmp.Diff(addrs(strings.Fields(tc.want)...), guest.Adapters([]types.GuestNicInfo{nic})[0].Floating, byValue); diff != "" {
				t.Error(diff)
			}
		})
	}
}
