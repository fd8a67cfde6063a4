package existing

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
)

// Door is a port of a pod's loopback address, where nothing but a port-forward through the API server comes in, and what is
// behind it.
type Door struct {
	// Port is on 127.0.0.1.
	Port int
	// Network and Address are what net.Dial takes: "unix" and the control socket, "tcp" and where a vCenter listens.
	Network, Address string
}

// Expose opens doors, and keeps them open until the function that it returns is called, which waits until all connections
// are closed.
func Expose(ctx context.Context, doors ...Door) (closeAll func(), err error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var open sync.WaitGroup
	closeAll = func() { cancel(); open.Wait() }
	for _, d := range doors {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(d.Port)))
		if err != nil {
			closeAll()
			return nil, fmt.Errorf("port-forwards to %s: %w", d.Address, err)
		}
		open.Go(func() {
			var to net.Dialer
			dial := func(ctx context.Context) (net.Conn, error) { return to.DialContext(ctx, d.Network, d.Address) }
			_ = Forward(ctx, l, dial, nil) // Accept fails when there are no descriptors left, and then so does everything
		})
	}
	return closeAll, nil
}
