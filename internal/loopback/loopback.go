// Package loopback chooses the loopback addresses of the vCenters of a sandbox.
//
//	listeners, note, err := loopback.Listen(ctx, loopback.Place{}, 2)   // 127.0.0.11:8989, 127.0.0.12:8989
//
// Floor 0.
package loopback

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

const (
	// DefaultPort is the port of every vCenter whose address was not chosen: 443 needs privileges, 8989 is vcsim's own.
	DefaultPort = 8989
	// AnyPort has each vCenter get a free port.
	AnyPort = -1

	// most is how many vCenters a block of addresses has: 127.0.x.11 up to 127.0.x.250.
	most = 240
	// blocks is how many blocks there are: 127.0.0.x up to 127.0.249.x.
	blocks = 250
)

// PortError is that a port is in use on every loopback address. It unwraps to [syscall.EADDRINUSE].
type PortError struct{ Port int }

func (e *PortError) Error() string {
	return fmt.Sprintf("port %d is in use on every loopback address", e.Port)
}

func (e *PortError) Unwrap() error { return syscall.EADDRINUSE }

// Place is where vCenters may listen.
type Place struct {
	// Addresses are where they listen, "IP:port" each. Empty: each has a separate loopback address.
	Addresses []string
	// Reserved are addresses, "IP:port" each, whose blocks are left to sandboxes that do not run now. Optional.
	Reserved []string
	// Port is the port of every vCenter if Addresses is empty. 0: [DefaultPort]; [AnyPort]: a free one for each.
	Port int
}

// Listen opens a TCP listener for each of n vCenters, in order: at the addresses, or without addresses on a port of a
// separate loopback address for each. These are the first free ones of 127.0.x.11, 127.0.x.12 …, so that several sandboxes
// share a port number. A system with only 127.0.0.1, as macOS, gets free ports there, and a note about that. On an error no
// listener is left open. It may be called from several goroutines.
func Listen(ctx context.Context, p Place, n int) (_ []*net.TCPListener, note string, _ error) {
	if len(p.Addresses) > 0 {
		if len(p.Addresses) != n {
			return nil, "", fmt.Errorf("%d addresses for %d vCenters", len(p.Addresses), n)
		}
		all, err := listenAll(ctx, p.Addresses)
		return all, "", err
	}
	if n > most {
		return nil, "", fmt.Errorf("%d vCenters, but addresses for %d at most", n, most)
	}
	port := p.Port
	switch port {
	case 0:
		port = DefaultPort
	case AnyPort:
		port = 0
	}
	reserved := map[int]bool{}
	for _, address := range p.Reserved {
		if at, err := netip.ParseAddrPort(address); err == nil {
			reserved[Block([]string{at.Addr().String()})] = true
		}
	}
	for block := range blocks {
		if reserved[block] {
			continue
		}
		all, err := listenAll(ctx, blockOf(block, n, port))
		switch {
		case errors.Is(err, syscall.EADDRNOTAVAIL): // macOS has 127.0.0.1 alone unless there are aliases of lo0
			all, err := listenAll(ctx, shared(n))
			return all, "this system has no loopback address but 127.0.0.1: vCenters share it and differ by port", err
		case err == nil || !errors.Is(err, syscall.EADDRINUSE):
			return all, "", err
		}
	}
	return nil, "", &PortError{Port: port}
}

// blockOf lists the addresses 127.0.<block>.11, .12 ….
func blockOf(block, n, port int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("127.0.%d.%d:%d", block, 11+i, port)
	}
	return list
}

// Block returns the number of the block that an address of the list is in, 0 if none is in one.
func Block(hosts []string) int {
	for _, host := range hosts {
		if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() && ip.IsLoopback() {
			return int(ip.As4()[2])
		}
	}
	return 0
}

// ListenBeside opens a TCP listener for something else of a sandbox whose vCenters are in a block: at 127.0.block.host if the system has
// that address, else at 127.0.0.1; at the port if it is free, else at one that the system chooses.
func ListenBeside(ctx context.Context, block, host, port int) (net.Listener, error) {
	own := fmt.Sprintf("127.0.%d.%d", block, host)
	var errs []error
	for _, at := range []string{fmt.Sprintf("%s:%d", own, port), own + ":0", "127.0.0.1:0"} {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", at)
		if err == nil {
			return l, nil
		}
		errs = append(errs, err)
		if !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EADDRNOTAVAIL) {
			break
		}
	}
	return nil, errors.Join(errs...)
}

func shared(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = "127.0.0.1:0"
	}
	return list
}

func listenAll(ctx context.Context, addresses []string) ([]*net.TCPListener, error) {
	all := make([]*net.TCPListener, 0, len(addresses))
	for _, address := range addresses {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			Close(all)
			return nil, err
		}
		all = append(all, l.(*net.TCPListener)) // of the network "tcp"
	}
	return all, nil
}

// Close closes listeners from which no connection was accepted.
func Close(listeners []*net.TCPListener) {
	for _, l := range listeners {
		_ = l.Close()
	}
}
