package sim

import (
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestListenByItself(t *testing.T) {
	first, note, err := listen(t.Context(), nil, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(first)
	second, _, err := listen(t.Context(), nil, 2)
	if err != nil {
		t.Fatalf("a second sandbox side by side: %v", err)
	}
	defer closeAll(second)
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
	if _, _, err := listen(t.Context(), nil, maxAutomatic+1); err == nil {
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
	if _, _, err := listen(t.Context(), []string{free, taken.Addr().String()}, 2); err == nil {
		t.Fatal("an address was taken twice")
	}
	again, err := net.Listen("tcp", free)
	if err != nil {
		t.Fatalf("the first address is still open: %v", err)
	}
	again.Close()
}

func TestBlock127(t *testing.T) {
	if diff := cmp.Diff([]string{"127.0.3.11:8989", "127.0.3.12:8989"}, block127(3, 2, DefaultPort)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
