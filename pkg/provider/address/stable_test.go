package address_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/address"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
)

// With static addresses on several adapters, upstream's result differs in each call, because it iterates over a map. Here the
// first one in the metadata always counts.
func TestStaticAddressesDoNotFlap(t *testing.T) {
	var metadata strings.Builder
	g := address.Guest{}
	metadata.WriteString("network: {version: 2, ethernets: {")
	for i := range 12 {
		fmt.Fprintf(&metadata, "id%d: {addresses: [10.0.%d.7/24]}, ", (i*7)%12, (i*7)%12)
		g.Adapters = append(g.Adapters, adapters(fmt.Sprintf("net%d 10.0.%d.7", 11-i, 11-i))...)
	}
	metadata.WriteString("}}")
	for range 100 {
		g.Static, g.StaticErr = guest.StaticAddresses(metadata.String(), "")
		if got := written(address.Select(g, address.Rules{})); got != "10.0.0.7/10.0.0.7" {
			t.Fatal(got)
		}
		if got := written(address.Select(g, rules(t, "not-in=10.0.0.0/24,10.0.7.0/24"))); got != "10.0.2.7/10.0.0.7" {
			t.Fatal(got)
		}
	}
}

func BenchmarkSelect(b *testing.B) {
	small := address.Guest{Adapters: adapters("lan 10.0.0.1 fe80::1")}
	large := address.Guest{Adapters: adapters("-a 10.244.0.1 | " + strings.Repeat("-veth 10.244.0.2 fe80::2 | ", 12) +
		"lan 10.0.0.100 10.0.0.1 2001:db8::1 fe80::1 | wan 203.0.113.9 2001:db8:f::9"), Static: ips("203.0.113.9", "10.0.0.1")}
	all := address.Rules{NodeIPs: ips("10.0.0.1", "2001:db8::1"), Families: someFams[3]}
	all.Nodes.InternalSubnets, all.Nodes.ExternalVMNetwork = subnets("10.0.0.0/8,2001:db8::/64"), "WAN"
	all.Nodes.ExcludeInternalSubnets = subnets("10.0.0.100/32")
	for name, bc := range map[string]struct {
		g address.Guest
		r address.Rules
	}{"one address": {small, address.Rules{}}, "dual stack with all rules": {large, all}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := address.Select(bc.g, bc.r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
