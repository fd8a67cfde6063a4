package address

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
)

// Guest describes a VM's network.
type Guest struct {
	// Adapters are what the guest reports, in its order.
	Adapters []guest.Adapter
	// Static are the addresses in the VM's guestinfo.metadata, in order of preference, and StaticErr is why they cannot be
	// read.
	Static    []netip.Addr
	StaticErr error
	// SharedWith, if set, returns the other VMs whose guests report an address, as one text, or "".
	SharedWith func(netip.Addr) string
}

// Rules select addresses.
type Rules struct {
	// Nodes are the configured subnets and VM networks.
	Nodes config.Nodes
	// Families are the address families, in order of preference; IPv4 when empty. Each must have an address.
	Families []config.IPFamily
	// NodeIPs are the kubelet's --node-ip addresses, at most one per family. One that the rules do not select becomes the
	// internal address of its family, unless it is excluded or not the VM's.
	NodeIPs []netip.Addr
	// Current are the addresses of an initialized node. Of several that the rules select equally, a current one is kept.
	Current []Address
	// Upstream ignores NodeIPs, Current, Guest.SharedWith and floating addresses, and returns every Guest.StaticErr.
	Upstream bool
}

// Selection is the result of [Select].
type Selection struct {
	// Addresses are in order of family, internal before external.
	Addresses []Address
	// Warnings are for an operator; the same situation gives the same warnings.
	Warnings []*Problem
}

// Address is one address of a node.
type Address struct {
	Kind Kind
	IP   netip.Addr
}

// Kind is the type of a node's address, as in Kubernetes.
type Kind string

// The kinds of addresses that a provider sets.
const (
	Internal Kind = "InternalIP"
	External Kind = "ExternalIP"
)

// Select selects the addresses of a node from those of its VM. Its error is a [*Problem] that does not name the VM. It does
// not keep its arguments, and is safe for concurrent use.
func Select(g Guest, r Rules) (Selection, error) {
	if len(r.Families) == 0 {
		r.Families = []config.IPFamily{config.IPv4}
	}
	s := selector{guest: &g, rules: &r}
	if err := s.check(); err != nil {
		return Selection{}, err
	}
	s.out.Addresses = make([]Address, 0, 2*len(r.Families))
	for _, family := range r.Families {
		if err := s.family(family); err != nil {
			return Selection{}, err
		}
	}
	s.foreignNodeIPs()
	return s.out, nil
}

type selector struct {
	guest      *Guest
	rules      *Rules
	candidates []candidate // of the current family
	out        Selection
}

func (s *selector) family(family config.IPFamily) *Problem {
	s.candidates = s.guest.appendCandidates(s.candidates[:0], family)
	if !s.rules.Upstream {
		s.guest.judge(s.candidates)
	}
	if len(s.candidates) == 0 {
		return s.familyMissing(family)
	}
	internal, external := s.sides()
	c := choose(s.candidates, &internal, &external)
	if c.internal.index < 0 && c.external.index < 0 {
		return s.allExcluded(family)
	}
	if err := s.static(&internal, &external, c); err != nil {
		return err
	}
	s.unmatched(family, &internal, c.internal)
	s.unmatched(family, &external, c.external)
	in, ex := s.chosen(c.internal), s.chosen(c.external)
	if !s.rules.Upstream {
		in, ex = s.nodeIP(family, &internal, &external, in, ex)
	}
	if !in.IsValid() || !ex.IsValid() {
		s.oneOnly(family, in, ex)
	}
	s.add(Internal, in)
	s.add(External, ex)
	s.doubtful(&internal, &external, in, ex)
	return nil
}

// index returns the chosen address, or the zero address.
func (s *selector) chosen(c choice) netip.Addr {
	if c.index < 0 {
		return netip.Addr{}
	}
	return s.candidates[c.index].ip
}

func (s *selector) add(kind Kind, ip netip.Addr) {
	if a := (Address{kind, ip}); ip.IsValid() && !slices.Contains(s.out.Addresses, a) {
		s.out.Addresses = append(s.out.Addresses, a)
	}
}

// side is the configuration for one kind of address.
type side struct {
	kind             Kind
	subnets, exclude []netip.Prefix
	network          string
	current          []Address  // those of the node, of both kinds
	nodeIP           netip.Addr // the kubelet's, if it goes before all others
}

func (s *selector) sides() (internal, external side) {
	n := &s.rules.Nodes
	internal = side{kind: Internal, subnets: n.InternalSubnets, exclude: n.ExcludeInternalSubnets, network: n.InternalVMNetwork}
	external = side{kind: External, subnets: n.ExternalSubnets, exclude: n.ExcludeExternalSubnets, network: n.ExternalVMNetwork}
	if !s.rules.Upstream {
		internal.current, external.current = s.rules.Current, s.rules.Current
	}
	return internal, external
}

// choice is the index of a candidate and why it was chosen.
type choice struct {
	index  int // -1 for none
	by     rule
	subnet netip.Prefix // when by bySubnet
}

// rule is the reason for a choice.
type rule int

const (
	byNothing rule = iota
	bySubnet
	byNetwork
	byOrder
)

type choices struct {
	internal, external choice
}

// choose applies the rules to the candidates.
func choose(of []candidate, internal, external *side) choices {
	c := choices{internal.choose(of), external.choose(of)}
	if c.internal.index < 0 && c.external.index < 0 {
		c = choices{internal.first(of), external.first(of)}
	}
	return c
}

// choose applies the subnets, else the VM network.
func (s *side) choose(of []candidate) choice {
	for _, p := range s.subnets {
		if c := s.best(of, choice{by: bySubnet, subnet: p}); c.index >= 0 {
			return c
		}
	}
	if s.network != "" {
		return s.best(of, choice{by: byNetwork})
	}
	return choice{index: -1}
}

// first returns the first candidate that is not excluded.
func (s *side) first(of []candidate) choice { return s.best(of, choice{by: byOrder}) }

// best returns c with the index of the candidate that fits it with the lowest rank, the first one of several.
func (s *side) best(of []candidate, c choice) choice {
	c.index = -1
	for i := range of {
		if s.fits(of[i], c) && (c.index < 0 || s.rank(of[i]) < s.rank(of[c.index])) {
			c.index = i
		}
	}
	if c.index < 0 {
		return choice{index: -1}
	}
	return c
}

// rank orders candidates that a rule does not distinguish; the lowest is preferred. An address that may not be the VM's own
// comes last. Then those in the metadata come first, and of the others the current one of this kind.
func (s *side) rank(c candidate) (rank int) {
	current := slices.Contains(s.current, Address{s.kind, c.ip})
	switch {
	case c.ip == s.nodeIP:
		return 0
	case c.floating || c.shared && !current:
		rank += 4
	}
	if !c.static {
		rank += 2
	}
	if !current {
		rank++
	}
	return rank
}

// fits reports whether a candidate could have been chosen for the same reason as c.
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

// static handles unreadable metadata. That is an error if another candidate would have been as good as the chosen one, so
// that the metadata might have decided between them.
func (s *selector) static(internal, external *side, c choices) *Problem {
	if s.guest.StaticErr == nil {
		return nil
	}
	if s.rules.Upstream {
		return problem(StaticUnreadable, "%v", s.guest.StaticErr)
	}
	for _, one := range []struct {
		*side
		choice
	}{{internal, c.internal}, {external, c.external}} {
		if one.index < 0 {
			continue
		}
		for _, other := range s.candidates {
			if other.ip != s.candidates[one.index].ip && one.fits(other, one.choice) {
				return problem(StaticUnreadable, "%v; so the order of %s and %s is unknown, "+
					"and no %s or VM network is configured that only one is in", s.guest.StaticErr, s.candidates[one.index].ip, other.ip, one.subnetsName())
			}
		}
	}
	s.warn(StaticUnreadable, "%v; this does not affect the node's addresses", s.guest.StaticErr)
	return nil
}

// nodeIP makes sure that the kubelet's address of this family is among the node's, because the stock node controller does
// not initialize a node without it (k8s.io/cloud-provider, node/helpers/address.go;
// kubernetes/cloud-provider-vsphere#614, #1455). If the rules do not select it, it is put before all other candidates and
// the rules are applied again. If they still do not select it, it replaces the internal address.
func (s *selector) nodeIP(family config.IPFamily, internal, external *side, in, ex netip.Addr) (netip.Addr, netip.Addr) {
	i := slices.IndexFunc(s.rules.NodeIPs, func(ip netip.Addr) bool { return isFamily(ip, family) })
	if i < 0 {
		return in, ex
	}
	want := s.rules.NodeIPs[i]
	if want == in || want == ex {
		return in, ex
	}
	if !slices.ContainsFunc(s.candidates, func(c candidate) bool { return c.ip == want }) {
		s.nodeIPMissing(want)
		return in, ex
	}
	internal.nodeIP, external.nodeIP = want, want
	c := choose(s.candidates, internal, external)
	if again, other := s.chosen(c.internal), s.chosen(c.external); want == again || want == other {
		return again, other
	}
	if internal.excludes(want) {
		s.warn(NodeIPExcluded, "the kubelet's node IP %s is in an excluded internal network subnet (%s), and no rule makes "+
			"it the external address: the node cannot be initialized", want, list(internal.exclude))
		return in, ex
	}
	s.warn(NodeIPOverridesRules, "the kubelet's node IP %s is the internal address, though the %s", want, internal.rules(in))
	return want, ex
}

// foreignNodeIPs warns about node IPs of families that are not configured.
func (s *selector) foreignNodeIPs() {
	if s.rules.Upstream {
		return
	}
	for _, ip := range s.rules.NodeIPs {
		if family := familyOf(ip); !slices.Contains(s.rules.Families, family) {
			s.warn(NodeIPFamily, "the kubelet's node IP %s is an %s address, and the vcenter's ip family is %s: the node cannot be "+
				"initialized", ip, family, list(s.rules.Families))
		}
	}
}

type candidate struct {
	ip      netip.Addr
	network string
	static  bool
	// floating and shared report that the address may not be the VM's own; see [guest.Adapter] and Guest.SharedWith.
	floating, shared bool
}

// judge finds out which candidates may not be the VM's own addresses. What the metadata configures is its own.
func (g *Guest) judge(list []candidate) {
	for i := range list {
		c := &list[i]
		c.static = slices.Contains(g.Static, c.ip)
		c.shared = g.SharedWith != nil && g.SharedWith(c.ip) != ""
		c.floating = !c.static && slices.ContainsFunc(g.Adapters, func(a guest.Adapter) bool {
			return !a.Virtual && slices.Contains(a.Floating, c.ip)
		})
	}
}

// appendCandidates appends the addresses of a family to list: first the static ones in order, then all, in the order of adapters
// and of addresses on each. Duplicates do no harm.
func (g *Guest) appendCandidates(list []candidate, family config.IPFamily) []candidate {
	for _, ip := range g.Static {
		if !isFamily(ip, family) || !guest.Usable(ip) {
			continue
		}
		for _, a := range g.Adapters {
			if !a.Virtual && slices.Contains(a.Addresses, ip) {
				list = append(list, candidate{ip: ip, network: a.Network})
			}
		}
	}
	for _, a := range g.Adapters {
		if a.Virtual {
			continue
		}
		for _, ip := range a.Addresses {
			if isFamily(ip, family) && guest.Usable(ip) {
				list = append(list, candidate{ip: ip, network: a.Network})
			}
		}
	}
	return list
}

func isFamily(ip netip.Addr, family config.IPFamily) bool {
	switch family {
	case config.IPv4:
		return ip.Is4()
	case config.IPv6:
		return ip.Is6() && !ip.Is4In6()
	}
	return false
}

func familyOf(ip netip.Addr) config.IPFamily {
	if ip.Is4() {
		return config.IPv4
	}
	return config.IPv6
}
