package guest

import (
	"fmt"
	"net/netip"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Renew gives the guest of the VM other addresses of the same networks, as a DHCP server may when a lease is not renewed in
// time, and tells whether it did: guests that are not up and those with static addresses keep theirs, and so does an
// address whose network is full. Nobody in the vCenter has the new ones.
func (g *Guests) Renew(vm types.ManagedObjectReference) bool {
	m := g.find(vm)
	obj, ok := g.base.Map.Get(vm).(*simulator.VirtualMachine)
	if m == nil || !ok {
		return false
	}
	changed := false
	ctx := vc.Fresh(g.base)
	ctx.WithLock(obj, func() {
		if !m.up || m.info.Static || m.info.NoTools || g.stock() || !visible(&obj.VirtualMachine) || obj.Guest == nil || obj.Guest.IpAddress == "" {
			return
		}
		g.learn(m, &obj.VirtualMachine)
		was := obj.Guest.IpAddress
		next := m.info
		next.Addresses, changed = g.others(m)
		if !changed {
			return
		}
		g.know(m, next)
		ctx.Update(obj, m.reports(ctx, &obj.VirtualMachine).changes(next, &obj.VirtualMachine))
		g.log(m, event.Warning, "guest.readdressed", 0, fmt.Sprintf("lease ended: address %s is now %s", was, obj.Guest.IpAddress))
	})
	return changed
}

// others chooses an address that is free in place of each that the guest has.
func (g *Guests) others(m *machine) (map[string][]netip.Prefix, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	changed := false
	all := make(map[string][]netip.Prefix, len(m.info.Addresses))
	chosen := make(map[netip.Addr]bool)
	for mac, list := range m.info.Addresses {
		for _, p := range list {
			next := following(p, func(a netip.Addr) bool {
				_, owned := g.owners[a]
				return !owned && !chosen[a]
			})
			changed = changed || next != p
			chosen[next.Addr()] = true
			all[mac] = append(all[mac], next)
		}
	}
	return all, changed
}

// farthest is how many addresses are tried in place of one.
const farthest = 1 << 16

// following returns the next free address of the prefix's network after its own, from the start again at the end; p itself
// when there is none. The network's own address, the one after it, which is the gateway's, and the last one are nobody's.
func following(p netip.Prefix, free func(netip.Addr) bool) netip.Prefix {
	first := p.Masked().Addr().Next().Next()
	for a, n := p.Addr().Next(), 0; n < farthest; a, n = a.Next(), n+1 {
		if !a.IsValid() || !p.Contains(a) || !p.Contains(a.Next()) {
			a = first
		}
		if a == p.Addr() || !p.Contains(a) || !p.Contains(a.Next()) {
			return p
		}
		if a.Compare(first) >= 0 && free(a) {
			return netip.PrefixFrom(a, p.Bits())
		}
	}
	return p
}
