package loopback

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"syscall"
)

// Free ports for [ListenKept] are looked for between these, below those that systems give to connections by default.
const firstKept, lastKept = 20000, 32767

// ListenKept opens a TCP listener on a free port of an IP address that can be had again later: the system does not give it to
// connections, as it does with a port that it has chosen itself. If all of those are in use, the system chooses.
func ListenKept(ip net.IP) (*net.TCPListener, error) {
	last := lastKept
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil { // as on Linux
		var first int
		if _, err := fmt.Sscan(string(text), &first); err == nil {
			last = min(last, first-1)
		}
	}
	for range 100 {
		if last <= firstKept {
			break
		}
		l, err := listen(ip, firstKept+rand.IntN(last-firstKept)) //nolint:gosec // no secret
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
	}
	return listen(ip, 0)
}

func listen(ip net.IP, port int) (*net.TCPListener, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", net.JoinHostPort(ip.String(), strconv.Itoa(port))) // it returns at once
	if err != nil {
		return nil, err
	}
	return l.(*net.TCPListener), nil // of the network "tcp"
}
