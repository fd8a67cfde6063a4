package kind

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// Expose makes a program that listens at target, an address host:port of this machine, reachable for the nodes and their pods
// at the address that it returns, until [Cluster.Close] or [Cluster.Delete]. Bytes pass as they are, so TLS ends at the target.
//
// The relay listens on this machine's own address in kind's network, and takes connections from that network only: of its
// containers, and of programs on this machine. Docker Desktop has its daemon in a virtual machine, from which 127.0.0.1 of
// this machine is reached by a name; there the relay listens on 127.0.0.1, for all programs of this machine and all its containers.
func (c *Cluster) Expose(ctx context.Context, target string) (netip.AddrPort, error) {
	if _, _, err := net.SplitHostPort(target); err != nil {
		return netip.AddrPort{}, fmt.Errorf("expose %q: want host:port", target)
	}
	if c.rt == nil {
		return netip.AddrPort{}, fmt.Errorf("expose %s: cluster %s has not been made", target, c.Name())
	}
	if c.rt.Desktop(ctx) {
		return c.exposeDesktop(ctx, target)
	}
	name := Network(c.rt)
	n, there, err := c.rt.Network(ctx, name)
	if err != nil {
		return netip.AddrPort{}, err
	}
	if !there {
		return netip.AddrPort{}, fmt.Errorf("expose %s: there is no network %s: the cluster has to be made first", target, name)
	}
	var errs []error
	for i, gateway := range n.Gateways {
		if !gateway.Is4() {
			continue
		}
		subnet := n.Subnets[min(i, len(n.Subnets)-1)]
		for _, s := range n.Subnets {
			if s.Contains(gateway) {
				subnet = s
			}
		}
		r, err := newRelay(ctx, netip.AddrPortFrom(gateway, 0), target, subnet.Contains)
		if err == nil {
			return c.keep(r), nil
		}
		errs = append(errs, err)
	}
	err = errors.Join(errs...)
	if len(errs) == 0 {
		err = fmt.Errorf("network %s has no IPv4 gateway", name)
	}
	if errors.Is(err, syscall.EADDRNOTAVAIL) || len(errs) == 0 {
		return netip.AddrPort{}, coded.New(Unreachable, "run "+c.rt.Name()+" as root, not rootless: then network "+name+" is this machine's", err,
			"the nodes cannot reach programs of this machine: network %s of %s is in a network namespace or a machine of its own", name, c.rt.Name())
	}
	return netip.AddrPort{}, fmt.Errorf("expose %s: %w", target, err)
}

func (c *Cluster) exposeDesktop(ctx context.Context, target string) (netip.AddrPort, error) {
	m := c.machines[0]
	out, err := c.Exec(ctx, m.Name, nil, "getent", "ahostsv4", runtime.HostName)
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	host, parsed := netip.ParseAddr(first)
	if err = errors.Join(err, parsed); err != nil {
		return netip.AddrPort{}, coded.New(Unreachable, "", err, "the nodes do not know this machine as %s", runtime.HostName)
	}
	r, err := newRelay(ctx, netip.MustParseAddrPort("127.0.0.1:0"), target, netip.Addr.IsLoopback)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("expose %s: %w", target, err)
	}
	return netip.AddrPortFrom(host, c.keep(r).Port()), nil
}

func (c *Cluster) keep(r *relay) netip.AddrPort {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.relays = append(c.relays, r)
	return r.addr()
}
