package sandbox

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// On real VMs a node's kubelet says the address that the VM's guest does, and a VM without one is refused by name.
func TestBoundTo(t *testing.T) {
	s, _, _ := applied(t)
	for _, n := range must(boundTo(s.opts.Topology, false)) {
		if n.Address.IsValid() {
			t.Errorf("%s has the address %s without being bound to a VM", n.Name, n.Address)
		}
	}
	all := recordedAddresses(s.opts.Topology)
	for _, n := range must(boundTo(s.opts.Topology, true)) {
		if of := all[strings.ToLower(n.UUID)]; len(of) == 0 || n.Address != of[0] {
			t.Errorf("%s has the address %s, its VM %v", n.Name, n.Address, of)
		}
	}
	vm := s.opts.Topology.Nodes()[0].VM
	vm.NICs[0].Addresses = []string{"2001:db8::7/64"}
	if _, err := boundTo(s.opts.Topology, true); err == nil || !strings.Contains(err.Error(), strings.ToLower(vm.Hostname)) {
		t.Errorf("a VM without an IPv4 address: %v", err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestWays(t *testing.T) {
	at := netip.MustParseAddr
	all := map[string][]netip.Addr{"a": {at("10.0.0.2"), at("10.0.0.1")}, "b": {at("10.0.0.3")}, "c": {at("10.0.0.3"), at("10.0.0.1")}}
	clear := "set -e\nip -4 address flush dev eth0 label eth0:vm\nip -4 route flush dev eth0 proto 247\n"
	for uuid, want := range map[string]string{
		"a": clear + `ip -4 address add 10.0.0.1/32 dev eth0 label eth0:vm
ip -4 address add 10.0.0.2/32 dev eth0 label eth0:vm
ip -4 route replace 10.0.0.3/32 dev eth0 proto 247`,
		"": clear + `ip -4 route replace 10.0.0.1/32 dev eth0 proto 247
ip -4 route replace 10.0.0.2/32 dev eth0 proto 247
ip -4 route replace 10.0.0.3/32 dev eth0 proto 247`,
	} {
		if diff := cmp.Diff(want, waysOf(uuid, all)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", uuid, diff)
		}
	}
}
