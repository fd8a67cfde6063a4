package sim_test

import (
	"crypto/tls"
	"net"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// A simulation that takes the place of another one has its addresses, and no other process gets them in between.
func TestListeners(t *testing.T) {
	first, err := sim.New(t.Context(), sim.Options{Topology: load(t, switches), Port: loopback.AnyPort})
	if err != nil {
		t.Fatal(err)
	}
	var addresses []string
	for _, v := range first.VCenters() {
		addresses = append(addresses, v.Addr())
	}
	kept, err := first.Listeners()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		if l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address); err == nil {
			_ = l.Close()
			t.Errorf("%s is free", address)
		}
	}
	early, err := new(net.Dialer).DialContext(t.Context(), "tcp", addresses[0]) // waits for the next simulation
	if err != nil {
		t.Fatal(err)
	}
	defer early.Close()
	second, err := sim.New(t.Context(), sim.Options{Topology: load(t, switches), Listeners: kept})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := second.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for i, v := range second.VCenters() {
		if v.Addr() != addresses[i] {
			t.Errorf("%s, was %s", v.Addr(), addresses[i])
		}
	}
	if err := tls.Client(early, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(t.Context()); err != nil {
		t.Errorf("a connection made in between: %v", err)
	}
}
