package gate

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// TestReserve: a reserved address refuses connections, and no other socket can bind it.
func TestReserve(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().(*net.TCPAddr)
	// A connection that was closed by this side stays in the way for a while.
	client, err := net.Dial("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	server.Close()
	l.Close()

	f := reserve(addr)
	if f == nil {
		t.Fatal("not reserved")
	}
	if other, err := net.Listen("tcp", addr.String()); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("another listens: %v, %v", other, err)
	}
	if c, err := net.Dial("tcp", addr.String()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("connected: %v, %v", c, err)
	}
	f.Close()
	again, err := net.Listen("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}
