package components

import (
	"net"
	"testing"
)

// Each name has one address until it is dropped.
func TestProxies(t *testing.T) {
	p := &Proxies{Server: func() string { return "127.0.0.1:1" }}
	first, err := p.Addr("a")
	if err != nil {
		t.Fatal(err)
	}
	again, _ := p.Addr("a")
	other, _ := p.Addr("b")
	if again != first || other == first || first == p.Server() {
		t.Errorf("a is %s and %s, b is %s, the API server %s", first, again, other, p.Server())
	}
	for range 2 {
		if err := p.Drop("a"); err != nil {
			t.Error(err)
		}
	}
	if c, err := net.Dial("tcp", first); err == nil {
		c.Close()
		t.Error("the proxy still listens")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if addr, err := p.Addr("a"); err == nil {
		t.Errorf("made one at the end: %s", addr)
	}
}
