package loopback

import (
	"net"
	"testing"
)

// What it chooses is no port that the system gives to connections, and each listener gets a separate one.
func TestListenKept(t *testing.T) {
	seen := map[int]bool{}
	for range 50 {
		l, err := ListenKept(net.IPv4(127, 0, 0, 1))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		port := l.Addr().(*net.TCPAddr).Port
		if seen[port] || port < 20000 || port >= 32768 {
			t.Errorf("port %d, after %v", port, seen)
		}
		seen[port] = true
	}
}
