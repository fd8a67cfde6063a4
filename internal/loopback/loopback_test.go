package loopback

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestListenAlone(t *testing.T) {
	first, note, err := Listen(t.Context(), Place{}, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer Close(first)
	second, _, err := Listen(t.Context(), Place{}, 2)
	if err != nil {
		t.Fatalf("a second sandbox side by side: %v", err)
	}
	defer Close(second)
	seen := map[string]bool{}
	hosts := map[string]bool{}
	for _, l := range append(first, second...) {
		addr := l.Addr().(*net.TCPAddr)
		if seen[addr.String()] || !addr.IP.IsLoopback() {
			t.Errorf("address %s", addr)
		}
		seen[addr.String()] = true
		hosts[addr.IP.String()] = true
	}
	if (note == "") != (len(hosts) == 4) {
		t.Errorf("note %q with %d IP addresses", note, len(hosts))
	}
	if _, _, err := Listen(t.Context(), Place{}, most+1); err == nil {
		t.Error("more vCenters than addresses")
	}
}

func TestListenLeavesNothingOpen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := l.Addr().String()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	l.Close()
	if _, _, err := Listen(t.Context(), Place{Addresses: []string{free, taken.Addr().String()}}, 2); err == nil {
		t.Fatal("an address was taken twice")
	}
	again, err := net.Listen("tcp", free)
	if err != nil {
		t.Fatalf("the first address is still open: %v", err)
	}
	again.Close()
}

func TestBlockOf(t *testing.T) {
	if diff := cmp.Diff([]string{"127.0.3.11:8989", "127.0.3.12:8989"}, blockOf(3, 2, DefaultPort)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A port that a stranger has on all addresses is free in no block.
func TestPortTakenEverywhere(t *testing.T) {
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	all, _, err := Listen(t.Context(), Place{Port: port}, 2)
	Close(all)
	var taken *PortError
	if !errors.As(err, &taken) || taken.Port != port || !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("err = %v, want a PortError of %d", err, port)
	}
	all, _, err = Listen(t.Context(), Place{Port: AnyPort}, 2)
	if err != nil {
		t.Fatal(err)
	}
	Close(all)
}

func TestListenBeside(t *testing.T) {
	first, err := ListenBeside(t.Context(), 249, 251, 8989)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := ListenBeside(t.Context(), 249, 251, 8989)
	if err != nil {
		t.Fatalf("where the port is in use: %v", err)
	}
	defer second.Close()
	if first.Addr().String() == second.Addr().String() {
		t.Errorf("both listen at %s", first.Addr())
	}
	for _, l := range []net.Listener{first, second} {
		if ip := l.Addr().(*net.TCPAddr).IP; !ip.Equal(net.IPv4(127, 0, 249, 251)) && !ip.Equal(net.IPv4(127, 0, 0, 1)) {
			t.Errorf("it listens at %s", l.Addr())
		}
	}
	if _, err := ListenBeside(t.Context(), 249, 251, 1<<16); err == nil {
		t.Error("a port that does not exist")
	}
}
