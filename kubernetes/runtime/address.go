package runtime

import (
	"errors"
	"hash/fnv"
	"net/netip"
	"strings"
	"sync"
)

// addresses are those of a node's pods: the next free one of its podCIDR. It needs no construction.
type addresses struct {
	node string

	mu     sync.Mutex
	prefix netip.Prefix
	last   netip.Addr
	used   map[netip.Addr]bool
}

// set sets the node's podCIDR; of several, the first counts.
func (a *addresses) set(cidr string) error {
	if cidr == "" {
		return nil
	}
	cidr, _, _ = strings.Cut(cidr, ",")
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.prefix != prefix.Masked() {
		a.prefix, a.last = prefix.Masked(), netip.Addr{}
	}
	return nil
}

// known reports whether the range is.
func (a *addresses) known() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.prefix.IsValid()
}

// take returns a free address. The first of a range, which is the network's own, and the second, the gateway's in kubenet, are
// never given. An address that was given back comes again last.
func (a *addresses) take() (netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.prefix.IsValid() {
		a.prefix = fallback(a.node)
	}
	if a.used == nil {
		a.used = map[netip.Addr]bool{}
	}
	first := a.prefix.Addr().Next().Next()
	next := first
	if a.last.IsValid() {
		next = a.last.Next()
	}
	for wrapped := false; ; next = next.Next() {
		if !a.prefix.Contains(next) || a.prefix.Addr().Is4() && !a.prefix.Contains(next.Next()) { // the last one is the broadcast address
			if wrapped {
				return netip.Addr{}, errors.New("the node's podCIDR " + a.prefix.String() + " has no free address")
			}
			wrapped, next = true, first
		}
		if !a.used[next] {
			a.used[next], a.last = true, next
			return next, nil
		}
	}
}

// free gives an address back.
func (a *addresses) free(ip netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.used, ip)
}

// fallback is the range of a node without podCIDR: one of 2^14 in the shared address space, by the node's name.
func fallback(node string) netip.Prefix {
	h := fnv.New32a()
	_, _ = h.Write([]byte(node))
	n := h.Sum32() & (1<<14 - 1)
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64 + byte(n>>8), byte(n), 0}), 24)
}
