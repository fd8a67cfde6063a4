package address

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// list writes things one after the other.
func list[T any](things []T) string {
	if len(things) == 0 {
		return "none"
	}
	texts := make([]string, len(things))
	for i := range things {
		texts[i] = fmt.Sprint(things[i])
	}
	return strings.Join(texts, ", ")
}

// ips writes the candidates at hand, in an order that does not depend on which was preferred.
func (s *selector) ips() string {
	ips := make([]netip.Addr, len(s.of))
	for i, c := range s.of {
		ips[i] = c.ip
	}
	slices.SortFunc(ips, netip.Addr.Compare)
	return list(slices.Compact(ips))
}

// networks writes the names of the networks that the VM is on.
func (s *selector) networks() string {
	var names []string
	for _, a := range s.guest.Adapters {
		if name := fmt.Sprintf("%q", a.Network); !a.Virtual && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return list(names)
}

// reported says what is reported and does not count.
func (s *selector) reported() string {
	own, local := 0, []netip.Addr(nil)
	for _, a := range s.guest.Adapters {
		if !a.Virtual {
			own++
			local = append(local, a.Addresses...)
		}
	}
	switch {
	case own == 0:
		return fmt.Sprintf("its %d adapters were all made in the guest (by a CNI, say), none is the vm's", len(s.guest.Adapters))
	case len(local) == 0:
		return "the vm's adapters have none"
	}
	return "the vm's adapters have only local ones (" + list(local) + ")"
}

func (s *side) name() string {
	return map[Kind]string{Internal: "internal", External: "external"}[s.kind]
}

func (s *side) subnetsName() string { return s.name() + " network subnet" }
func (s *side) networkName() string { return s.name() + " VM network" }

// rules says what the configuration chose instead of the node IP.
func (s *side) rules(chosen netip.Addr) string {
	if !chosen.IsValid() {
		return "configuration finds none"
	}
	var by []string
	if len(s.subnets) > 0 {
		by = append(by, fmt.Sprintf("%ss %s", s.subnetsName(), list(s.subnets)))
	}
	if s.network != "" {
		by = append(by, fmt.Sprintf("%s %q", s.networkName(), s.network))
	}
	return fmt.Sprintf("configuration (%s) says %s", strings.Join(by, ", "), chosen)
}
