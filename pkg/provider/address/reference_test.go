package address_test

import (
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/address"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
)

// A slow and simple implementation of the rules: every address of every adapter gets a score, and the best score wins. It
// shares only types with the code under test.

type seen struct {
	ip        netip.Addr
	network   string
	preferred int // position among the preferred addresses, a large number for the others
	position  int // in the guest's report
}

// refSelect returns the addresses, or false for an error.
func refSelect(g address.Guest, r address.Rules) ([]address.Address, bool) {
	if len(g.Adapters) == 0 {
		return nil, false
	}
	if n := r.Nodes; n.InternalVMNetwork != "" && n.ExternalVMNetwork != "" && !refOn(g, n.InternalVMNetwork) && !refOn(g, n.ExternalVMNetwork) {
		return nil, false
	}
	if !r.Upstream && g.StaticErr != nil {
		return refUnreadable(g, r)
	}
	if g.StaticErr != nil {
		return nil, false
	}
	families := r.Families
	if len(families) == 0 {
		families = []config.IPFamily{config.IPv4}
	}
	var all []address.Address
	for _, f := range families {
		in, ex := refFamily(g, r, f)
		if in == nil && ex == nil {
			return nil, false
		}
		for _, a := range slices.Concat(in, ex) {
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	return all, true
}

// refUnreadable tries all possible contents of the metadata: some of the VM's addresses, in any order. All must give one result.
func refUnreadable(g address.Guest, r address.Rules) ([]address.Address, bool) {
	g.StaticErr = nil
	var reported []netip.Addr
	for _, a := range g.Adapters {
		for _, ip := range a.Addresses {
			if !a.Virtual && guest.Usable(ip) && !slices.Contains(reported, ip) {
				reported = append(reported, ip)
			}
		}
	}
	want, ok := refSelect(g, r)
	for order := range orders(reported) {
		g.Static = order
		if got, _ := refSelect(g, r); !slices.Equal(got, want) {
			return nil, false
		}
	}
	return want, ok
}

// refFamily returns the internal and the external address of a family, each in a list of at most one.
func refFamily(g address.Guest, r address.Rules, f config.IPFamily) (in, ex []address.Address) {
	in, ex = refPair(g, r, f, g.Static)
	want := slices.DeleteFunc(slices.Clone(r.NodeIPs), func(ip netip.Addr) bool { return ip.Is4() != (f == config.IPv4) })
	if r.Upstream || len(want) == 0 || in == nil && ex == nil {
		return in, ex
	}
	// The kubelet's address: as it is, else preferred to all others, else as the internal one.
	has := func(l []address.Address) bool { return len(l) == 1 && l[0].IP == want[0] }
	if has(in) || has(ex) {
		return in, ex
	}
	again, other := refPair(g, r, f, append([]netip.Addr{want[0]}, g.Static...))
	if has(again) || has(other) {
		return again, other
	}
	isHis := func(s seen) bool { return s.ip == want[0] }
	if slices.ContainsFunc(refSeen(g, f, nil), isHis) && !refWithin(want[0], r.Nodes.ExcludeInternalSubnets) {
		in = []address.Address{{Kind: address.Internal, IP: want[0]}}
	}
	return in, ex
}

// refPair is upstream's selection with preferred addresses.
func refPair(g address.Guest, r address.Rules, f config.IPFamily, preferred []netip.Addr) (in, ex []address.Address) {
	n, all := r.Nodes, refSeen(g, f, preferred)
	in = refBest(all, address.Internal, n.InternalSubnets, n.ExcludeInternalSubnets, n.InternalVMNetwork, false)
	ex = refBest(all, address.External, n.ExternalSubnets, n.ExcludeExternalSubnets, n.ExternalVMNetwork, false)
	if in == nil && ex == nil {
		in = refBest(all, address.Internal, nil, n.ExcludeInternalSubnets, "", true)
		ex = refBest(all, address.External, nil, n.ExcludeExternalSubnets, "", true)
	}
	return in, ex
}

// refBest scores addresses, lower is better: those in no subnet and on no network count only if no other does.
func refBest(all []seen, kind address.Kind, subnets, exclude []netip.Prefix, network string, anything bool) []address.Address {
	var best []address.Address
	marks := []int{math.MaxInt}
	for _, s := range all {
		if refWithin(s.ip, exclude) {
			continue
		}
		subnet := slices.IndexFunc(subnets, func(p netip.Prefix) bool { return p.Masked().Overlaps(netip.PrefixFrom(s.ip, s.ip.BitLen())) })
		var mine []int
		switch {
		case subnet >= 0:
			mine = []int{1, subnet, s.preferred, s.position}
		case network != "" && strings.EqualFold(s.network, network):
			mine = []int{2, 0, s.preferred, s.position}
		case anything:
			mine = []int{3, 0, s.preferred, s.position}
		default:
			continue
		}
		if slices.Compare(mine, marks) < 0 {
			best, marks = []address.Address{{Kind: kind, IP: s.ip}}, mine
		}
	}
	return best
}

func refSeen(g address.Guest, f config.IPFamily, preferred []netip.Addr) []seen {
	var all []seen
	for _, a := range g.Adapters {
		for _, ip := range a.Addresses {
			if a.Virtual || ip.Is4() != (f == config.IPv4) || !ip.IsGlobalUnicast() {
				continue
			}
			s := seen{ip, a.Network, math.MaxInt, len(all)}
			if i := slices.Index(preferred, ip); i >= 0 {
				s.preferred = i
			}
			all = append(all, s)
		}
	}
	return all
}

func refOn(g address.Guest, network string) bool {
	for _, a := range g.Adapters {
		if !a.Virtual && strings.EqualFold(a.Network, network) {
			return true
		}
	}
	return false
}

func refWithin(ip netip.Addr, subnets []netip.Prefix) bool {
	return slices.ContainsFunc(subnets, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// orders yields every sequence of up to three elements: more than the sides of a family.
func orders(things []netip.Addr) func(func([]netip.Addr) bool) {
	return func(yield func([]netip.Addr) bool) {
		var from func(done, left []netip.Addr) bool
		from = func(done, left []netip.Addr) bool {
			if !yield(done) {
				return false
			}
			for i := range left {
				if len(done) < 3 && !from(append(slices.Clone(done), left[i]), slices.Delete(slices.Clone(left), i, i+1)) {
					return false
				}
			}
			return true
		}
		from(nil, things)
	}
}
