package sandbox

import (
	"net/netip"
	"slices"
	"strings"
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
	mac := k.firstNIC(m.vm.UUID)
	if mac == "" {
		return // it has no network card to have an address
	}
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

// firstNIC is the MAC address, in lower case, of the first network card of a VM that is a node.
func (k *kindCluster) firstNIC(uuid string) string {
	for _, r := range k.s.opts.Topology.Nodes() {
		if strings.EqualFold(r.VM.UUID, uuid) && len(r.VM.NICs) > 0 {
			return strings.ToLower(r.VM.NICs[0].MAC)
		}
	}
	return ""
}
