package address_test

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/address"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
)

var byValue = cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})

// Few values, so that they often coincide.
var (
	someIPs = ips("10.0.0.1", "10.0.0.2", "10.0.1.1", "192.168.0.1", "203.0.113.9", "2001:db8::1", "2001:db8::2", "fd00::1",
		"169.254.0.1", "fe80::1", "127.0.0.1", "::1", "0.0.0.0")
	someSubnets = subnets("10.0.0.0/8,10.0.0.0/24,10.0.0.2/32,192.168.0.0/16,203.0.113.0/24,0.0.0.0/0,::/0,2001:db8::/32,2001:db8::2/128,fd00::/8")
	someNames   = []string{"", "lan", "wan", "LAN", "x"}
	someFams    = [][]config.IPFamily{nil, {config.IPv4}, {config.IPv6}, {config.IPv4, config.IPv6}, {config.IPv6, config.IPv4}}
)

// situation generates a case; n returns a number below its argument, random or from a fuzzer's input.
func situation(n func(below int) int) (address.Guest, address.Rules) {
	oneIn := func(k int) bool { return n(k) == k-1 }
	var g address.Guest
	var reported []netip.Addr
	for range n(4) + 1 {
		a := guest.Adapter{Network: someNames[n(3)], Virtual: oneIn(6)}
		for range n(4) {
			a.Addresses = append(a.Addresses, someIPs[n(len(someIPs))])
		}
		g.Adapters, reported = append(g.Adapters, a), append(reported, a.Addresses...)
	}
	if oneIn(50) {
		g.Adapters = nil
	}
	// Mostly a reported address.
	ip := func() netip.Addr {
		if len(reported) == 0 || oneIn(5) {
			return someIPs[n(len(someIPs))]
		}
		return reported[n(len(reported))]
	}
	for range n(3) {
		g.Static = append(g.Static, ip())
	}
	if oneIn(6) {
		g.Static, g.StaticErr = nil, errors.New("guestinfo.metadata: gone")
	}
	var r address.Rules
	for _, list := range []*[]netip.Prefix{&r.Nodes.InternalSubnets, &r.Nodes.ExternalSubnets, &r.Nodes.ExcludeInternalSubnets, &r.Nodes.ExcludeExternalSubnets} {
		for range n(3) * n(2) {
			*list = append(*list, someSubnets[n(len(someSubnets))])
		}
	}
	for _, name := range []*string{&r.Nodes.InternalVMNetwork, &r.Nodes.ExternalVMNetwork} {
		if oneIn(3) {
			*name = someNames[n(len(someNames))]
		}
	}
	r.Families = someFams[n(len(someFams))]
	for range n(3) {
		r.NodeIPs = append(r.NodeIPs, ip())
	}
	r.Upstream = oneIn(3)
	return g, r
}

// check compares Select with the reference, and with a second call.
func check(t *testing.T, g address.Guest, r address.Rules) (ok bool) {
	t.Helper()
	before := cmp.Diff(g, address.Guest{}, byValue, cmpopts.EquateErrors())
	got, err := address.Select(g, r)
	want, possible := refSelect(g, r)
	switch {
	case err != nil && !possible:
	case err != nil && g.StaticErr != nil && len(r.NodeIPs) > 0 && !r.Upstream:
		// The kubelet's address would have decided. Select does not check that: an error is safe.
	case err != nil || !possible:
		t.Errorf("error %v; reference: %v, %v", err, want, possible)
	default:
		if diff := cmp.Diff(want, got.Addresses, byValue); diff != "" {
			t.Error(diff)
		}
	}
	if again, errAgain := address.Select(g, r); !cmp.Equal(got, again, byValue) || !cmp.Equal(err, errAgain) {
		t.Errorf("first %v, %v, then %v, %v", got, err, again, errAgain)
	}
	if after := cmp.Diff(g, address.Guest{}, byValue, cmpopts.EquateErrors()); before != after {
		t.Error("the guest was changed")
	}
	invariants(t, g, r, got, err)
	return !t.Failed()
}

// invariants hold for all rules.
func invariants(t *testing.T, g address.Guest, r address.Rules, s address.Selection, err error) {
	t.Helper()
	if p := (*address.Problem)(nil); err != nil && (!errors.As(err, &p) || p.Reason == "" || p.Message == "" || s.Addresses != nil) {
		t.Errorf("error %v with %v", err, s)
	}
	for i, a := range s.Addresses {
		own := func(ad guest.Adapter) bool { return !ad.Virtual && slices.Contains(ad.Addresses, a.IP) }
		exclude := r.Nodes.ExcludeInternalSubnets
		if a.Kind == address.External {
			exclude = r.Nodes.ExcludeExternalSubnets
		}
		if !slices.ContainsFunc(g.Adapters, own) || !guest.Usable(a.IP) || refWithin(a.IP, exclude) || slices.Contains(s.Addresses[:i], a) {
			t.Errorf("%v of %v cannot be", a, s.Addresses)
		}
	}
	for _, w := range s.Warnings {
		if w.Reason == "" || w.Message == "" {
			t.Errorf("warning %v says nothing", w)
		}
	}
}

func TestSelectAgainstReference(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range 10_000 {
		g, r := situation(random.IntN)
		if !check(t, g, r) {
			t.Fatalf("seed %d, situation %d: %+v\n%+v", seed, i, g, r)
		}
	}
}

func FuzzSelect(f *testing.F) {
	f.Add([]byte("\x02\x01\x01\x03\x00\x01\x05"))
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz"))
	f.Fuzz(func(t *testing.T, data []byte) {
		g, r := situation(func(below int) int {
			if len(data) == 0 {
				return 0
			}
			b := int(data[0])
			data = data[1:]
			return b % below
		})
		check(t, g, r)
	})
}
