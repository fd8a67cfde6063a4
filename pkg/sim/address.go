package sim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// DefaultPort is the port of every vCenter whose address was not chosen: 443 needs privileges, 8989 is vcsim's own.
const DefaultPort = 8989

// maxAutomatic is how many vCenters can get an address by themselves: 127.0.x.11 up to 127.0.x.250.
const maxAutomatic = 240

// listen opens one listener for each of n vCenters, in order. The note, when there is one, says what the user would not
// expect. On error nothing is left open.
func listen(ctx context.Context, addresses []string, n int) (_ []net.Listener, note string, _ error) {
	if len(addresses) > 0 {
		if len(addresses) != n {
			return nil, "", fmt.Errorf("simulation: %d addresses for %d vCenters", len(addresses), n)
		}
		l, err := listenAll(ctx, addresses)
		return l, "", err
	}
	if n > maxAutomatic {
		return nil, "", fmt.Errorf("simulation: %d vCenters, but addresses for %d at most", n, maxAutomatic)
	}
	for block := range 250 {
		l, err := listenAll(ctx, block127(block, n, DefaultPort))
		switch {
		case err == nil:
			return l, "", nil
		case errors.Is(err, syscall.EADDRNOTAVAIL):
			// macOS has 127.0.0.1 alone unless somebody adds aliases to lo0.
			l, err := listenAll(ctx, onlyLoopback(n))
			return l, "this system has no loopback address but 127.0.0.1: vCenters share it and differ by port", err
		case !errors.Is(err, syscall.EADDRINUSE):
			return nil, "", err
		}
	}
	return nil, "", fmt.Errorf("simulation: port %d is in use in every block of loopback addresses", DefaultPort)
}

// block127 lists the addresses 127.0.<block>.11, .12 ….
func block127(block, n, port int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("127.0.%d.%d:%d", block, 11+i, port)
	}
	return list
}

func onlyLoopback(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = "127.0.0.1:0"
	}
	return list
}

func listenAll(ctx context.Context, addresses []string) ([]net.Listener, error) {
	var all []net.Listener
	for _, a := range addresses {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", a)
		if err != nil {
			closeAll(all)
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		_ = l.Close() // nothing was accepted from it
	}
}
