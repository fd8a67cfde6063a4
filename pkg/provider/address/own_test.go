package address_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/address"
)

// An address that may not be the VM's own is not selected while the VM has another one that suits the configuration, and is
// reported in any case. An initialized node keeps its addresses while the VM has them. "~" marks a floating address, "!" one
// that another VM reports. Sources: findings/cpi.md A7, kubernetes/cloud-provider-vsphere PR #556 (kube-vip), #614, #1826.
func TestSelectOwn(t *testing.T) {
	const (
		ours     = "10.20.0.11/10.20.0.11"
		notice   = " (VirtualAddress)"
		reported = " VirtualAddress"
	)
	for _, tc := range []struct {
		name, adapters, rules, current, want, upstream string
	}{
		{"virtual ip first", "lan 10.20.0.250~ 10.20.0.11", "", "", ours + notice, "10.20.0.250/10.20.0.250"},
		{"virtual ip last", "lan 10.20.0.11 10.20.0.250~", "", "", ours + notice, ours},
		{"virtual ip alone", "lan 10.20.0.250~", "", "", "10.20.0.250/10.20.0.250" + reported, "10.20.0.250/10.20.0.250"},
		{"virtual ip in the subnet, too", "lan 10.20.0.250~ 10.20.0.11", "in=10.20.0.0/24 ex=10.20.0.0/24", "", ours + notice, "10.20.0.250/10.20.0.250"},
		{"virtual ip is all that the subnet has", "lan 10.20.0.250~ 10.20.0.11", "in=10.20.0.11/32 ex=10.20.0.250/32", "", "10.20.0.11/10.20.0.250" + reported, "10.20.0.11/10.20.0.250"},
		{"virtual ip excluded", "lan 10.20.0.250~ 10.20.0.11", "not-in=10.20.0.250/32 not-ex=10.20.0.250/32", "", ours, ours},
		{"virtual ip is the node ip", "lan 10.20.0.250~ 10.20.0.11", "node=10.20.0.250", "", "10.20.0.250/10.20.0.250" + reported, "10.20.0.250/10.20.0.250"},
		{"virtual ip of another family's node", "lan 2001:db8::1 10.20.0.250~ 10.20.0.11", "v=64", "", "2001:db8::1/2001:db8::1 " + ours + notice, "2001:db8::1/2001:db8::1 10.20.0.250/10.20.0.250"},
		{"virtual ip is the node's address", "lan 10.20.0.250~ 10.20.0.11", "", "10.20.0.250/10.20.0.250", ours + notice, "10.20.0.250/10.20.0.250"},
		{"virtual ip moves to the node", "lan 10.20.0.250 10.20.0.11", "", "10.20.0.11/10.20.0.11", ours, "10.20.0.250/10.20.0.250"},
		{"shared", "lan 10.20.0.9! 10.20.0.11", "", "", ours + " (AddressShared)", "10.20.0.9/10.20.0.9"},
		{"shared, and no other", "lan 10.20.0.11!", "", "", ours + " AddressShared", ours},
		{"shared, and the node's for long", "lan 10.20.0.11! 10.20.0.12", "", "10.20.0.11/10.20.0.11", ours + " AddressShared", ours},
		{"shared and virtual", "lan 10.20.0.250!~ 10.20.0.11", "", "", ours + notice, "10.20.0.250/10.20.0.250"},
		{"the old address is gone", "lan 10.20.0.11", "", "10.20.0.18/10.20.0.18", ours, ours},
		{"a new address comes first", "lan 10.20.0.12 | wan 10.20.0.11", "", "10.20.0.11/10.20.0.11", ours, "10.20.0.12/10.20.0.12"},
		{"each kind keeps its own", "lan 10.1.0.6 10.0.0.5", "in=10.0.0.0/8 ex=10.1.0.0/16", "10.0.0.5/10.1.0.6", "10.0.0.5/10.1.0.6", "10.1.0.6/10.1.0.6"},
		{"a rule is more than what was", "lan 10.20.0.12 10.20.0.11", "in=10.20.0.11/32 ex=10.20.0.11/32", "10.20.0.12/10.20.0.12", ours, ours},
		{"the node ip is more than what was", "lan 10.20.0.12 10.20.0.11", "node=10.20.0.11", "10.20.0.12/10.20.0.12", ours, "10.20.0.12/10.20.0.12"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, r := address.Guest{}, rules(t, tc.rules)
			var shared []netip.Addr
			var plain []string
			floating := map[netip.Addr]bool{}
			for word := range strings.FieldsSeq(tc.adapters) {
				text := strings.TrimRight(word, "~!")
				plain = append(plain, text)
				if ip, err := netip.ParseAddr(text); err == nil {
					floating[ip] = strings.Contains(word, "~")
					if strings.Contains(word, "!") {
						shared = append(shared, ip)
					}
				}
			}
			g.Adapters = adapters(strings.Join(plain, " "))
			for i := range g.Adapters {
				for _, ip := range g.Adapters[i].Addresses {
					if floating[ip] {
						g.Adapters[i].Floating = append(g.Adapters[i].Floating, ip)
					}
				}
			}
			g.SharedWith = func(ip netip.Addr) string {
				if slices.Contains(shared, ip) {
					return "vm other"
				}
				return ""
			}
			if in, ex, ok := strings.Cut(tc.current, "/"); ok {
				r.Current = []address.Address{{Kind: address.Internal, IP: netip.MustParseAddr(in)}, {Kind: address.External, IP: netip.MustParseAddr(ex)}}
			}
			s, err := address.Select(g, r)
			got := written(address.Selection{Addresses: s.Addresses}, err)
			for _, w := range s.Warnings {
				if w.Notice {
					got += " (" + string(w.Reason) + ")"
				} else {
					got += " " + string(w.Reason)
				}
			}
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			r.Upstream = true
			if got := written(address.Select(g, r)); got != tc.upstream {
				t.Errorf("upstream: got  %s\nwant %s", got, tc.upstream)
			}
		})
	}
}

// With metadata, the VM's own address is known: it is never taken for a virtual IP (findings/cpi.md, t2-addr.yaml, n7).
func TestSelectOwnStatic(t *testing.T) {
	g := address.Guest{Adapters: adapters("lan 10.20.0.17 10.20.0.251"), Static: ips("10.20.0.251")}
	g.Adapters[0].Floating = ips("10.20.0.251")
	if got := written(address.Select(g, address.Rules{})); got != "10.20.0.251/10.20.0.251" {
		t.Error(got)
	}
}
