package kind

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// relay forwards TCP connections of allowed clients to a target.
type relay struct {
	listener *net.TCPListener
	target   string
	allows   func(netip.Addr) bool
	ctx      context.Context // ends the connections
	end      context.CancelFunc
	running  sync.WaitGroup
}

// dialTime is the timeout for a connection to the target.
const dialTime = 10 * time.Second

// newRelay listens at at. The relay outlives ctx: it ends with the cluster.
func newRelay(ctx context.Context, at netip.AddrPort, target string, allows func(netip.Addr) bool) (*relay, error) {
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
	if err != nil {
		return nil, err
	}
	r := &relay{listener: l, target: target, allows: allows}
	r.ctx, r.end = context.WithCancel(context.WithoutCancel(ctx))
	r.running.Add(1)
	go r.accept()
	return r, nil
}

func (r *relay) addr() netip.AddrPort { return r.listener.Addr().(*net.TCPAddr).AddrPort() }

func (r *relay) close() error {
	r.end()
	err := r.listener.Close()
	r.running.Wait()
	return err
}

func (r *relay) accept() {
	defer r.running.Done()
	for {
		conn, err := r.listener.AcceptTCP()
		if err != nil {
			if r.ctx.Err() != nil {
				return
			}
			// Out of descriptors, or the client is already gone: the next may succeed.
			select {
			case <-r.ctx.Done():
				return
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		from := conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
		if !r.allows(from) {
			_ = conn.SetLinger(0) // a reset instead of an orderly end
			_ = conn.Close()
			continue
		}
		r.running.Go(func() {
			r.carry(conn)
		})
	}
}

// carry copies in both directions until both sides have ended, or the relay does. It resets the client if the target does
// not respond.
func (r *relay) carry(client *net.TCPConn) {
	defer client.Close()
	d := net.Dialer{Timeout: dialTime}
	conn, err := d.DialContext(r.ctx, "tcp", r.target)
	if err != nil {
		_ = client.SetLinger(0)
		return
	}
	target := conn.(*net.TCPConn)
	defer target.Close()
	stop := context.AfterFunc(r.ctx, func() {
		_ = client.Close()
		_ = target.Close()
	})
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		pass(target, client)
	}()
	pass(client, target)
	<-done
}

// pass copies one direction, and forwards how it ended, with EOF or a reset, so that clients see faults of a vCenter.
func pass(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		_ = to.SetLinger(0)
		_ = from.SetLinger(0)
		_ = to.Close()
		_ = from.Close()
		return
	}
	_ = to.CloseWrite()
}
