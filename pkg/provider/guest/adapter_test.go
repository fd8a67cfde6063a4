package guest_test

import (
	"net/netip"
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
