package sandbox

import (
	"net/netip"
	"testing"
)

// The guest of a VM reports its container's address, also of one that was made anew and has nothing of the topology's but its
// name; other addresses stay.
func TestAddressed(t *testing.T) {
	s := withVCenters(t, "single")
	k := &kindCluster{s: s}
	vm := s.world.VMs()[0]
	vm.UUID = "42000000-0000-4000-8000-00000000dead" // no VM of the topology's
	sim := s.vcenters.Find(vm.VCenter).Sim
	card := sim.Cards(vm.Ref)[0]
	info, _ := sim.Guest(vm.Ref)
	info.Addresses[card] = []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24"), netip.MustParsePrefix("2001:db8::7/64")}
	if err := sim.InstallGuest(vm.Ref, info); err != nil {
		t.Fatal(err)
	}
	k.addressed(&machine{vm: vm}, netip.MustParseAddr("172.18.0.4"))
	info, _ = sim.Guest(vm.Ref)
	got := map[netip.Prefix]bool{}
	for _, p := range info.Addresses[card] {
		got[p] = true
	}
	if len(got) != 2 || !got[netip.MustParsePrefix("172.18.0.4/16")] || !got[netip.MustParsePrefix("2001:db8::7/64")] {
		t.Errorf("it reports %v", info.Addresses)
	}
	k.addressed(&machine{vm: vm}, netip.Addr{}) // of a container that has none
	if again, _ := sim.Guest(vm.Ref); len(again.Addresses[card]) != 2 {
		t.Errorf("it reports %v", again.Addresses)
	}
}
