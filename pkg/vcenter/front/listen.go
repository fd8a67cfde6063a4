package front

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// DefaultPort is the port of fronts whose addresses were not chosen, that of simulated vCenters.
const DefaultPort = 8989

// Listen opens a listener for each of n fronts: on the addresses, "IP:port" each, or, where there are none, on a loopback
// address of its own for each, in the first block 127.0.x.11, .12 … that is free. A cloud config tells vCenters apart by
// host, so they are not to share one. On error nothing is left open.
func Listen(ctx context.Context, addresses []string, n int) ([]*net.TCPListener, error) {
	if len(addresses) > 0 {
		if len(addresses) != n {
			return nil, fmt.Errorf("front: %d addresses for %d vCenters", len(addresses), n)
		}
		return listenAll(ctx, addresses)
	}
	const block = 240
	if n > block {
		return nil, fmt.Errorf("front: %d vCenters, but addresses for %d at most", n, block)
	}
	for third := range 250 {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("127.0.%d.%d:%d", third, 11+i, DefaultPort)
		}
		all, err := listenAll(ctx, list)
		switch {
		case errors.Is(err, syscall.EADDRNOTAVAIL): // a system with 127.0.0.1 alone
			for i := range list {
				list[i] = "127.0.0.1:0"
			}
			return listenAll(ctx, list)
		case err == nil || !errors.Is(err, syscall.EADDRINUSE):
			return all, err
		}
	}
	return nil, fmt.Errorf("front: port %d is in use in every block of loopback addresses", DefaultPort)
}

func listenAll(ctx context.Context, addresses []string) ([]*net.TCPListener, error) {
	var all []*net.TCPListener
	for _, address := range addresses {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			for _, other := range all {
				_ = other.Close() // nothing was accepted from it
			}
			return nil, fmt.Errorf("front: %w", err)
		}
		tcp, ok := l.(*net.TCPListener)
		if !ok {
			return nil, errors.Join(fmt.Errorf("front: %s is no TCP address", address), l.Close())
		}
		all = append(all, tcp)
	}
	return all, nil
}
