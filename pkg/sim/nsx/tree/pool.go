package tree

import (
	"fmt"
	"math/big"
	"net/netip"
	"slices"
	"time"
)

// freed is an address that was released. NSX holds it back for a time, so that nothing still uses it.
type freed struct {
	pool    string
	address netip.Addr
	until   time.Time
}

// settle does what is due: it purges deleted objects, ends the delays of released addresses and allocates addresses.
func (t *Tree) settle(now time.Time) {
	for path, n := range t.nodes {
		if n.gone && !n.due.After(now) {
			delete(t.nodes, path)
		}
	}
	t.freed = slices.DeleteFunc(t.freed, func(f freed) bool { return !f.until.After(now) })
	t.waiting = slices.DeleteFunc(t.waiting, func(n *node) bool {
		if n.gone {
			return true
		}
		if n.due.After(now) {
			return false
		}
		n.address, _ = t.allocate(n)
		return n.address.IsValid()
	})
}

// allocate returns the address of an allocation that has none yet, or why it gets none.
func (t *Tree) allocate(n *node) (netip.Addr, error) {
	pool, _ := split(n.path)
	if t.exhausted(pool) {
		return netip.Addr{}, fmt.Errorf("the IP pool %s has no free address", pool)
	}
	taken := t.taken(pool)
	ranges := t.ranges(pool)
	if requested := n.object.text(fieldRequested); requested != "" {
		addr, _ := netip.ParseAddr(requested)
		switch {
		case !slices.ContainsFunc(ranges, func(r addresses) bool { return r.has(addr) }):
			return netip.Addr{}, fmt.Errorf("the requested address %s is in no range of the IP pool %s", addr, pool)
		case taken[addr]:
			return netip.Addr{}, fmt.Errorf("the requested address %s of the IP pool %s is allocated", addr, pool)
		}
		return addr, nil
	}
	for _, r := range ranges {
		for addr := r.first; r.has(addr); addr = addr.Next() {
			if !taken[addr] {
				return addr, nil
			}
		}
	}
	return netip.Addr{}, fmt.Errorf("the IP pool %s has no free address", pool)
}

// taken returns the addresses of a pool that cannot be allocated.
func (t *Tree) taken(pool string) map[netip.Addr]bool {
	taken := map[netip.Addr]bool{}
	for _, n := range t.below(pool, allocations) {
		if n.address.IsValid() {
			taken[n.address] = true
		}
	}
	for _, f := range t.freed {
		if f.pool == pool {
			taken[f.address] = true
		}
	}
	return taken
}

// below returns the objects of a kind below a path, sorted by path.
func (t *Tree) below(path, pattern string) []*node {
	var all []*node
	for _, n := range t.nodes {
		if parent, _ := split(n.path); n.pattern == pattern && parent == path && !n.gone {
			all = append(all, n)
		}
	}
	slices.SortFunc(all, byPath)
	return all
}

// free releases the address of an allocation after the delay of its pool.
func (t *Tree) free(n *node, now time.Time) {
	pool, _ := split(n.path)
	if !n.address.IsValid() {
		return
	}
	delay, _ := t.nodes[pool].object[fieldReleaseDelay].(int64)
	if until := now.Add(time.Duration(delay) * time.Millisecond); until.After(now) {
		t.freed = append(t.freed, freed{pool, n.address, until})
	}
	n.address = netip.Addr{}
}

// addresses is a range of them.
type addresses struct{ first, last netip.Addr }

func (r addresses) has(a netip.Addr) bool {
	return a.IsValid() && a.BitLen() == r.first.BitLen() && !a.Less(r.first) && !r.last.Less(a)
}

// size returns the number of addresses, and at most that of IPv4.
func (r addresses) size() int64 {
	first, last := new(big.Int).SetBytes(r.first.AsSlice()), new(big.Int).SetBytes(r.last.AsSlice())
	n := last.Sub(last, first).Add(last, big.NewInt(1))
	if !n.IsInt64() {
		return 1 << 32
	}
	return min(n.Int64(), 1<<32)
}

// ranges returns the ranges of a pool's subnets.
func (t *Tree) ranges(pool string) []addresses {
	var all []addresses
	for _, n := range t.below(pool, subnets) {
		all = append(all, rangesOf(n.object)...)
	}
	return all
}

func rangesOf(subnet Object) []addresses {
	var all []addresses
	list, _ := subnet[fieldRanges].([]any)
	for _, v := range list {
		r, _ := v.(Object)
		first, _ := netip.ParseAddr(r.text("start"))
		last, _ := netip.ParseAddr(r.text("end"))
		all = append(all, addresses{first, last})
	}
	return all
}

// checkRanges refuses ranges that are not within the subnet's network.
func checkRanges(subnet Object) error {
	network, _ := netip.ParsePrefix(subnet.text("cidr"))
	for _, r := range rangesOf(subnet) {
		if !network.Contains(r.first) || !network.Contains(r.last) || r.last.Less(r.first) {
			return invalid([]string{fmt.Sprintf("%s: %s-%s is no range of %s", fieldRanges, r.first, r.last, network)})
		}
	}
	return nil
}

// usage returns the field pool_usage of a pool.
func (t *Tree) usage(pool *node) Object {
	var total int64
	for _, r := range t.ranges(pool.path) {
		total += r.size()
	}
	taken := int64(len(t.taken(pool.path)))
	if t.exhausted(pool.path) {
		taken = total
	}
	return Object{
		"total_ips": total, "allocated_ip_allocations": taken, "available_ips": max(0, total-taken),
		"requested_ip_allocations": int64(len(t.below(pool.path, allocations))),
	}
}
