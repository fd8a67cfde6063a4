package supervisor

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
)

// pool has the addresses of the load balancer.
type pool struct {
	mu    sync.Mutex
	all   []netip.Addr
	empty bool
	owner map[netip.Addr]string
}

func newPool(all []netip.Addr) pool { return pool{all: all, owner: map[netip.Addr]string{}} }

var errPoolEmpty = errors.New("the load balancer has no free address")

// take gives an owner its address: the one that it has, or a free one; the one that it wants, if it names one.
func (p *pool) take(owner, want string) (netip.Addr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	address, err := p.choose(owner, want)
	if err != nil {
		return netip.Addr{}, err
	}
	maps.DeleteFunc(p.owner, func(a netip.Addr, o string) bool { return o == owner && a != address })
	p.owner[address] = owner
	return address, nil
}

// why returns why take would give no address; nil if it would.
func (p *pool) why(owner, want string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.choose(owner, want)
	return err
}

// choose returns the address that take gives, or why it gives none. The caller holds the lock.
func (p *pool) choose(owner, want string) (netip.Addr, error) {
	wanted, err := netip.ParseAddr(want)
	if want != "" {
		if err != nil || !slices.Contains(p.all, wanted) {
			return netip.Addr{}, fmt.Errorf("the load balancer has no address %s", want)
		}
		if other := p.owner[wanted]; other != "" && other != owner {
			return netip.Addr{}, fmt.Errorf("the address %s is in use by %s", want, other)
		}
	}
	for address, o := range p.owner {
		if o == owner && (want == "" || address == wanted) {
			return address, nil
		}
	}
	if p.empty {
		return netip.Addr{}, errPoolEmpty
	}
	for _, address := range p.all {
		if p.owner[address] == "" && (want == "" || address == wanted) {
			return address, nil
		}
	}
	return netip.Addr{}, errPoolEmpty
}

// use notes an address that an owner has.
func (p *pool) use(owner string, address netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.owner[address] = owner
}

func (p *pool) release(owner string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for address, o := range p.owner {
		if o == owner {
			delete(p.owner, address)
		}
	}
}

func (p *pool) setEmpty(empty bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.empty = empty
}

// PodNetwork has the networks of pods that NSX gives to nodes.
const PodNetwork = "172.26.0.0/16"

// blocks has the networks of pods that NSX gives to nodes: parts of [PodNetwork].
type blocks struct {
	mu    sync.Mutex
	whole netip.Prefix
	owner map[netip.Prefix]string
}

func newBlocks() blocks {
	return blocks{whole: netip.MustParsePrefix(PodNetwork), owner: map[netip.Prefix]string{}}
}

// take returns the network of an owner, or a free one with a prefix of that many bits.
func (b *blocks) take(owner string, bits int) (netip.Prefix, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for p, o := range b.owner {
		if o == owner && p.Bits() == bits {
			return p, nil
		}
	}
	if bits < b.whole.Bits() || bits > 32 {
		return netip.Prefix{}, fmt.Errorf("no network of %s has a prefix of %d bits", b.whole, bits)
	}
	for p := netip.PrefixFrom(b.whole.Addr(), bits); b.whole.Contains(p.Addr()); p = after(p) {
		free := true
		for used := range b.owner {
			if used.Overlaps(p) {
				free = false
			}
		}
		if free {
			b.owner[p] = owner
			return p, nil
		}
	}
	return netip.Prefix{}, fmt.Errorf("all of %s is in use", b.whole)
}

// after returns the network behind an IPv4 network.
func after(p netip.Prefix) netip.Prefix {
	a := p.Addr().As4()
	n := uint32(a[0])<<24 | uint32(a[1])<<16 | uint32(a[2])<<8 | uint32(a[3])
	n += 1 << (32 - p.Bits())
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}), p.Bits())
}

func (b *blocks) use(owner, network string) {
	if p, err := netip.ParsePrefix(network); err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.owner[p] = owner
	}
}

func (b *blocks) release(owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for p, o := range b.owner {
		if o == owner {
			delete(b.owner, p)
		}
	}
}
