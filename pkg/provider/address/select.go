package address

import (
	"net/netip"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
)

// Guest is what is known of a VM's network.
type Guest struct {
	// Adapters are what the guest reports, in its order.
	Adapters []guest.Adapter
	// Static are the addresses that the VM's guestinfo.metadata configures, in order of preference, and StaticErr is why
	// they cannot be read.
	Static    []netip.Addr
	StaticErr error
}

// Rules say which addresses are wanted.
type Rules struct {
	// Nodes are the subnets and VM networks of the configuration.
	Nodes config.Nodes
	// Families are the address families, in order of preference; IPv4 when there are none. Each must have an address.
	Families []config.IPFamily
	// NodeIPs are the addresses that the kubelet was given (--node-ip), at most one of each family. One that the rules
	// leave out becomes the internal address of its family, unless it is excluded or none of the VM's.
	NodeIPs []netip.Addr
	// Upstream has NodeIPs ignored, and every Guest.StaticErr returned.
	Upstream bool
}

// Selection is what was selected.
type Selection struct {
	// Addresses are in order of family, the internal one first.
	Addresses []Address
	// Warnings are what an operator should know of it, the same for the same.
	Warnings []*Problem
}

// Address is one address of a node.
type Address struct {
	Kind Kind
	IP   netip.Addr
}

// Kind is what a node's address is for, as Kubernetes names it.
type Kind string

// The kinds.
const (
	Internal Kind = "InternalIP"
	External Kind = "ExternalIP"
)

// Select selects the addresses of the node that a VM is. Its error is a [*Problem] that does not name the VM. Arguments
// are read and not kept; any number of goroutines may call it.
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

// selector is one call of Select.
type selector struct {
	guest *Guest
	rules *Rules
	of    []candidate // of the family at hand
	out   Selection
}

// family selects the addresses of one family.
func (s *selector) family(family config.IPFamily) *Problem {
	s.of = s.guest.candidates(s.of[:0], family)
	if len(s.of) == 0 {
		return s.familyMissing(family)
	}
	internal, external := s.sides()
	c := choose(s.of, &internal, &external)
	if c.internal.at < 0 && c.external.at < 0 {
		return s.allExcluded(family)
	}
	if err := s.static(&internal, &external, c); err != nil {
		return err
	}
	s.unmatched(family, &internal, c.internal)
	s.unmatched(family, &external, c.external)
	in, ex := s.at(c.internal), s.at(c.external)
	if !s.rules.Upstream {
		in, ex = s.nodeIP(family, &internal, &external, in, ex)
	}
	if !in.IsValid() || !ex.IsValid() {
		s.oneOnly(family, in, ex)
	}
	s.add(Internal, in)
	s.add(External, ex)
	return nil
}

// at returns the address that was chosen; the zero one for none.
func (s *selector) at(c choice) netip.Addr {
	if c.at < 0 {
		return netip.Addr{}
	}
	return s.of[c.at].ip
}

func (s *selector) add(kind Kind, ip netip.Addr) {
	if a := (Address{kind, ip}); ip.IsValid() && !slices.Contains(s.out.Addresses, a) {
		s.out.Addresses = append(s.out.Addresses, a)
	}
}
