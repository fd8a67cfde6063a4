package kind

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// containerBits is how long the network part of a container's address is taken to be: what Docker and Podman give networks.
const containerBits = 16

// addressed has the guest of a VM report the address that its container has by now: the container is the guest, and the kubelet
// says that address.
func (g *Ground) addressed(vm world.VM, address netip.Addr) {
	if address.IsValid() {
		g.report(vm, netip.PrefixFrom(address, containerBits))
	}
}

// report has the guest of a VM report an address in place of the first one of its family that it reported. Every other address
// stays.
func (g *Ground) report(vm world.VM, address netip.Prefix) {
	vc := g.Host.Simulated(vm.VCenter)
	if vc == nil {
		return // a real guest says itself what address it has
	}
	info, ok := vc.Guest(vm.Ref)
	if !ok {
		return // it is gone
	}
	cards := vc.Cards(vm.Ref) // a VM that was created again has other NICs than the topology
	if len(cards) == 0 {
		return // it has no network card to have an address
	}
	mac := cards[0]
	was := info.Addresses[mac]
	now := make([]netip.Prefix, 0, len(was)+1)
	now = append(now, address)
	replaced := false
	for _, p := range was {
		if !replaced && p.Addr().Is4() == address.Addr().Is4() {
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
	if err := vc.InstallGuest(vm.Ref, info); err != nil {
		g.notice(strings.ToLower(vm.Name), err)
	}
}
