package kind

import (
	"context"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	simulator "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// The guest of a VM reports its container's address, also if the VM was created again and has only its name from the
// topology; other addresses stay.
func TestAddressed(t *testing.T) {
	k, h := idle(t)
	ca, err := cert.NewCA("test")
	if err != nil {
		t.Fatal(err)
	}
	all, err := simulator.New(t.Context(), simulator.Options{
		Topology: k.Topology, CA: ca, Dir: k.Dir, Addresses: []string{"127.0.0.1:0"}, Events: k.Log, BootDelay: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = all.Close(context.WithoutCancel(t.Context())) })
	h.sim = all.VCenters()[0]
	sim := h.sim
	vm := world.VM{VM: api.VM{VCenter: sim.Name(), UUID: "42000000-0000-4000-8000-00000000dead"}} // no VM of the topology's
	vm.Ref.Type = "VirtualMachine"
	for n, found := 0, false; !found; n++ { // its VMs are vm-N
		vm.Ref.Value = "vm-" + strconv.Itoa(n)
		_, found = sim.Guest(vm.Ref)
		if n > 10000 {
			t.Fatal("no VM")
		}
	}
	card := sim.MACs(vm.Ref)[0]
	info, _ := sim.Guest(vm.Ref)
	info.Addresses[card] = []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24"), netip.MustParsePrefix("2001:db8::7/64")}
	if err := sim.SetGuest(vm.Ref, info); err != nil {
		t.Fatal(err)
	}
	k.addressed(vm, netip.MustParseAddr("172.18.0.4"))
	info, _ = sim.Guest(vm.Ref)
	got := map[netip.Prefix]bool{}
	for _, p := range info.Addresses[card] {
		got[p] = true
	}
	if len(got) != 2 || !got[netip.MustParsePrefix("172.18.0.4/16")] || !got[netip.MustParsePrefix("2001:db8::7/64")] {
		t.Errorf("it reports %v", info.Addresses)
	}
	k.addressed(vm, netip.Addr{}) // of a container that has none
	if again, _ := sim.Guest(vm.Ref); len(again.Addresses[card]) != 2 {
		t.Errorf("it reports %v", again.Addresses)
	}
}

// On real VMs a node's kubelet says the address that the VM's guest does, and a VM without one is refused by name.
func TestBoundTo(t *testing.T) {
	g, _ := idle(t)
	for _, n := range must(boundTo(g.Topology, false)) {
		if n.Address.IsValid() {
			t.Errorf("%s has the address %s without being bound to a VM", n.Name, n.Address)
		}
	}
	all := must(recordedAddresses(g.Topology))
	for _, n := range must(boundTo(g.Topology, true)) {
		if of := all[strings.ToLower(n.UUID)]; len(of) == 0 || n.Address != of[0] {
			t.Errorf("%s has the address %s, its VM %v", n.Name, n.Address, of)
		}
	}
	nodes := g.Topology.Nodes()
	first, second := nodes[0].VM, nodes[1].VM
	was := first.NICs[0].Addresses
	first.NICs[0].Addresses = second.NICs[0].Addresses
	if _, err := boundTo(g.Topology, true); err == nil || !strings.Contains(err.Error(), second.Name) || !strings.Contains(err.Error(), first.Name) {
		t.Errorf("two VMs of one address: %v", err)
	}
	first.NICs[0].Addresses = []string{"2001:db8::7/64"}
	if _, err := boundTo(g.Topology, true); err == nil || !strings.Contains(err.Error(), first.Name) {
		t.Errorf("a VM without an IPv4 address: %v", err)
	}
	first.NICs[0].Addresses = was
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestWays(t *testing.T) {
	at := netip.MustParseAddr
	all := map[string][]netip.Addr{"a": {at("10.0.0.2"), at("10.0.0.1")}, "b": {at("10.0.0.3")}}
	for uuid, want := range map[string]string{
		"a": "set -e\nip -4 address replace 10.0.0.1/32 dev eth0\nip -4 address replace 10.0.0.2/32 dev eth0\nip -4 route replace 10.0.0.3/32 dev eth0\n",
		"":  "set -e\nip -4 route replace 10.0.0.1/32 dev eth0\nip -4 route replace 10.0.0.2/32 dev eth0\nip -4 route replace 10.0.0.3/32 dev eth0\n",
	} {
		if diff := cmp.Diff(want, waysOf(uuid, all)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", uuid, diff)
		}
	}
}
