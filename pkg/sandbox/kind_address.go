package sandbox

import (
	"net/netip"
	"slices"
)

// containerBits is how long the network part of a container's address is taken to be: what Docker and Podman give networks.
const containerBits = 16

// addressed has the guest of a VM report the address that its container has by now, in place of the first one of its family
// that it reported: the container is the guest, and the kubelet says that address. Every other address stays.
func (k *kindCluster) addressed(m *machine, address netip.Addr) {
	vc := k.s.watchedVCenter(m.vm.VCenter)
	if !address.IsValid() || vc == nil || vc.sim == nil {
		return // a real guest says itself what address it has
	}
	info, ok := vc.sim.Guest(m.vm.Ref)
	if !ok {
		return // it is gone
	}
	cards := vc.sim.Cards(m.vm.Ref) // the VM's own: one that is made anew has others than the topology says
	if len(cards) == 0 {
		return // it has no network card to have an address
	}
	mac := cards[0]
	was := info.Addresses[mac]
	now := make([]netip.Prefix, 0, len(was)+1)
	now = append(now, netip.PrefixFrom(address, containerBits))
	replaced := false
	for _, p := range was {
		if !replaced && p.Addr().Is4() == address.Is4() {
			replaced = true
			continue
		}
		now = append(now, p)
	}
	if slices.Equal(was, now) {
		return
	}
	addresses := map[string][]netip.Prefix{mac: now}
	for other, list := range info.Addresses {
		if other != mac {
			addresses[other] = list
		}
	}
	info.Addresses, info.Static = addresses, true
	if err := vc.sim.InstallGuest(m.vm.Ref, info); err != nil {
		k.notice(k.nodeOf(m), err)
	}
}
