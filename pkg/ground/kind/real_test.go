package kind

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
