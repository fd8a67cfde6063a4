package loopback

import (
	"net"
	"testing"
)

// What is listening nowhere now, but was reserved, is passed over.
func TestReservedIsPassedOver(t *testing.T) {
	first, _, err := Listen(t.Context(), Place{}, 2)
	if err != nil {
		t.Fatal(err)
	}
	reserved := []string{first[0].Addr().String(), first[1].Addr().String()}
	Close(first)
	if first[0].Addr().(*net.TCPAddr).IP.String() == "127.0.0.1" {
		t.Skip("this system has no loopback address but 127.0.0.1")
	}
	second, _, err := Listen(t.Context(), Place{Reserved: append(reserved, "no address")}, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer Close(second)
	if a, b := first[0].Addr().(*net.TCPAddr).IP.To4()[2], second[0].Addr().(*net.TCPAddr).IP.To4()[2]; a == b {
		t.Errorf("%s is in the block of %v", second[0].Addr(), reserved)
	}
	again, _, err := Listen(t.Context(), Place{Addresses: reserved}, 2)
	if err != nil {
		t.Fatalf("the one that they were reserved for: %v", err)
	}
	Close(again)
}
