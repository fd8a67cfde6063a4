package kind

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"sync"
)

// farEnd hands out addresses of a network of containers from its end: Docker hands them out from the beginning. It is for any
// goroutine.
type farEnd struct {
	mu     sync.Mutex
	subnet netip.Prefix
	owners map[uint32]vmKey // by how far from the end the address is
	own    map[vmKey]uint32
}

// of returns the address of a VM, always the same. When half of the range has been handed out, the addresses of deleted VMs
// become free: the other half is for containers. It returns an error if no address is free.
func (f *farEnd) of(vm vmKey, there func(vmKey) bool) (netip.Addr, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.own == nil {
		f.own, f.owners = map[vmKey]uint32{}, map[uint32]vmKey{}
	}
	if n, has := f.own[vm]; has {
		return f.at(n), nil
	}
	free := f.half() - 2 // the last address is everybody's
	for n := uint32(len(f.own)) + 1; n <= free; n++ {
		if _, taken := f.owners[n]; !taken {
			return f.give(vm, n), nil
		}
	}
	for n, owner := range f.owners {
		if !there(owner) {
			delete(f.own, owner)
			return f.give(vm, n), nil
		}
	}
	return netip.Addr{}, fmt.Errorf("network %s of the containers: has no address left for another light node, after %d", f.subnet, len(f.own))
}

func (f *farEnd) give(vm vmKey, n uint32) netip.Addr {
	f.own[vm], f.owners[n] = n, vm
	return f.at(n)
}

func (f *farEnd) half() uint32 {
	return uint32(1) << (f.subnet.Addr().BitLen() - f.subnet.Bits()) / 2
}

// at is the n-th address from the end, counted from 0.
func (f *farEnd) at(n uint32) netip.Addr {
	b := f.subnet.Addr().As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])+2*f.half()-1-n)
	return netip.AddrFrom4(b)
}
