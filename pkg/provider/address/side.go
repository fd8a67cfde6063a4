package address

import (
	"net/netip"
	"slices"
	"strings"
)

// side is what is configured for one kind of address.
type side struct {
	kind             Kind
	subnets, exclude []netip.Prefix
	network          string
}

func (s *selector) sides() (internal, external side) {
	n := &s.rules.Nodes
	return side{Internal, n.InternalSubnets, n.ExcludeInternalSubnets, n.InternalVMNetwork},
		side{External, n.ExternalSubnets, n.ExcludeExternalSubnets, n.ExternalVMNetwork}
}

// choice is a candidate, by its index, and why it was chosen.
type choice struct {
	at     int // -1 for none
	by     rule
	subnet netip.Prefix // when by bySubnet
}

// rule is what a candidate is chosen by.
type rule int

const (
	byNothing rule = iota
	bySubnet
	byNetwork
	byOrder
)

// choices are those of both kinds.
type choices struct {
	internal, external choice
}

// choose applies the rules to candidates.
func choose(of []candidate, internal, external *side) choices {
	c := choices{internal.choose(of), external.choose(of)}
	if c.internal.at < 0 && c.external.at < 0 {
		c = choices{internal.first(of), external.first(of)}
	}
	return c
}

// choose returns what the subnets, or else the VM network, say.
func (s *side) choose(of []candidate) choice {
	for _, p := range s.subnets {
		for i := range of {
			if c := (choice{i, bySubnet, p}); s.fits(of[i], c) {
				return c
			}
		}
	}
	if s.network != "" {
		for i := range of {
			if c := (choice{at: i, by: byNetwork}); s.fits(of[i], c) {
				return c
			}
		}
	}
	return choice{at: -1}
}

// first returns the first candidate that is not excluded.
func (s *side) first(of []candidate) choice {
	for i := range of {
		if !s.excludes(of[i].ip) {
			return choice{at: i, by: byOrder}
		}
	}
	return choice{at: -1}
}

// fits tells whether a candidate could have been chosen for the same reason as c.
func (s *side) fits(of candidate, c choice) bool {
	switch {
	case s.excludes(of.ip):
		return false
	case c.by == bySubnet:
		return c.subnet.Contains(of.ip)
	case c.by == byNetwork:
		return strings.EqualFold(of.network, s.network)
	}
	return c.by == byOrder
}

func (s *side) excludes(ip netip.Addr) bool {
	return slices.ContainsFunc(s.exclude, func(p netip.Prefix) bool { return p.Contains(ip) })
}
