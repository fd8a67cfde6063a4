// Package relay makes programs of this host reachable for the containers in a network of a container runtime, and so for the pods of
// a kind cluster: "the vCenters listen on loopback, and the pods must log in to them".
//
//	door, err := relay.Find(ctx, rt, "kind", "")
//	r, err := door.Open(ctx, "127.0.0.11:8989", 0)
//	defer r.Close()
//	r.Addr() // what pods dial
//
// A relay listens on this host's address in the network, and accepts connections from that network only: from its containers, and from
// programs on this host. Docker Desktop runs its daemon in a VM that reaches this host's 127.0.0.1 by a DNS name; there a relay
// listens on 127.0.0.1, for all programs of this host and all its containers.
//
// Floor 2, in the tree of pkg/cluster.
package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// Codes of errors.
const (
	// Unreachable: containers cannot connect to programs of this host.
	Unreachable = "host-unreachable"
	// NoNetwork: there is no such network.
	NoNetwork = "no-network"
)

// Door is where the containers of a network reach this host. Find it with [Find].
type Door struct {
	network, runtime string
	ways             []way
}

// way is one way to reach this host: where a relay listens, the address that stands for it in containers, and who may use it.
type way struct {
	listen, dial netip.Addr
	allows       func(netip.Addr) bool
}

// Find returns the door of a network. The container, which must be in it, is asked for the host's address where only containers know it;
// without one, any in the network is.
func Find(ctx context.Context, rt *runtime.Runtime, network, container string) (*Door, error) {
	d := &Door{network: network, runtime: rt.Name()}
	if rt.Desktop(ctx) {
		host, err := hostIn(ctx, rt, network, container)
		d.ways = []way{{netip.MustParseAddr("127.0.0.1"), host, netip.Addr.IsLoopback}}
		return d, err
	}
	n, exists, err := rt.Network(ctx, network)
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, coded.New(NoNetwork, "", nil, "network %s does not exist: create the cluster or the network first", network)
	}
	for i, gateway := range n.Gateways {
		if !gateway.Is4() || len(n.Subnets) == 0 {
			continue
		}
		subnet := n.Subnets[min(i, len(n.Subnets)-1)]
		for _, s := range n.Subnets {
			if s.Contains(gateway) {
				subnet = s
			}
		}
		d.ways = append(d.ways, way{gateway, gateway, subnet.Contains})
	}
	if len(d.ways) == 0 {
		return nil, d.unreachable(fmt.Errorf("network %s has no IPv4 gateway", network))
	}
	return d, nil
}

// hostIn asks a container for the address of this host.
func hostIn(ctx context.Context, rt *runtime.Runtime, network, container string) (netip.Addr, error) {
	if container == "" {
		all, err := rt.InNetwork(ctx, network)
		if err != nil {
			return netip.Addr{}, err
		}
		if len(all) == 0 {
			return netip.Addr{}, coded.New(NoNetwork, "start a container in it first", nil, "network %s has no containers, which alone know this host's address", network)
		}
		container = all[0]
	}
	var out bytes.Buffer
	err := rt.Exec(ctx, container, nil, &out, nil, "getent", "ahostsv4", runtime.HostName)
	first, _, _ := strings.Cut(strings.TrimSpace(out.String()), " ")
	host, parsed := netip.ParseAddr(first)
	if err = errors.Join(err, parsed); err != nil {
		return netip.Addr{}, coded.New(Unreachable, "", err, "container %s cannot resolve this host's name %s", container, runtime.HostName)
	}
	return host, nil
}

func (d *Door) unreachable(err error) error {
	return coded.New(Unreachable, "run "+d.runtime+" as root, not rootless: then network "+d.network+" is this machine's", err,
		"containers cannot reach programs of this host: network %s of %s is in a network namespace or VM that this host cannot bind to", d.network, d.runtime)
}

// Addresses are those that containers may dial, for certificates.
func (d *Door) Addresses() []netip.Addr {
	var all []netip.Addr
	for _, w := range d.ways {
		all = append(all, w.dial)
	}
	return all
}

// Open makes a program at target, an address host:port of this host, reachable at a port, 0 for a free one, until the relay is closed: it
// outlives ctx.
func (d *Door) Open(ctx context.Context, target string, port uint16) (*Relay, error) {
	if _, _, err := net.SplitHostPort(target); err != nil {
		return nil, fmt.Errorf("relay to %q: want host:port", target)
	}
	var errs []error
	for _, w := range d.ways {
		r, err := open(ctx, netip.AddrPortFrom(w.listen, port), target, w.allows)
		if err == nil {
			r.dial = netip.AddrPortFrom(w.dial, r.dial.Port())
			return r, nil
		}
		errs = append(errs, err)
	}
	err := errors.Join(errs...)
	if errors.Is(err, syscall.EADDRNOTAVAIL) {
		return nil, d.unreachable(err)
	}
	return nil, err
}

// Relay forwards TCP connections of allowed clients to a target, without a change of the bytes, so that TLS ends there. Open one with
// [Door.Open].
type Relay struct {
	dial     netip.AddrPort
	listener *net.TCPListener
	target   string
	allows   func(netip.Addr) bool
	ctx      context.Context // ends the connections
	end      context.CancelFunc
	running  sync.WaitGroup
}

// dialTime is the timeout for a connection to the target.
const dialTime = 10 * time.Second

// open listens at at.
func open(ctx context.Context, at netip.AddrPort, target string, allows func(netip.Addr) bool) (*Relay, error) {
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
	if err != nil {
		return nil, err
	}
	r := &Relay{dial: l.Addr().(*net.TCPAddr).AddrPort(), listener: l, target: target, allows: allows}
	r.ctx, r.end = context.WithCancel(context.WithoutCancel(ctx))
	r.running.Add(1)
	go r.accept()
	return r, nil
}

// Addr returns the address for the clients.
func (r *Relay) Addr() netip.AddrPort { return r.dial }

// Close ends all connections.
func (r *Relay) Close() error {
	r.end()
	err := r.listener.Close()
	r.running.Wait()
	return err
}

func (r *Relay) accept() {
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
func (r *Relay) carry(client *net.TCPConn) {
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
