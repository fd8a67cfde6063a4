package kind

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// networkLabel marks the network kind if a sandbox created it, so that the last sandbox removes it.
const networkLabel = "vsphere-sandbox.network"

// Network returns the name of the network that all kind clusters share, including the user's. kind reads the same
// environment variables; nerdctl has none.
func Network(rt *runtime.Runtime) string {
	env := map[string]string{"docker": "KIND_EXPERIMENTAL_DOCKER_NETWORK", "podman": "KIND_EXPERIMENTAL_PODMAN_NETWORK"}[rt.Kind()]
	if n := os.Getenv(env); n != "" {
		return n
	}
	return "kind"
}

// ensureNetwork creates kind's network, with our label, unless it exists.
func ensureNetwork(ctx context.Context, rt *runtime.Runtime) error {
	name := Network(rt)
	if _, exists, err := rt.Network(ctx, name); err != nil || exists {
		return err
	}
	// kind's network has IPv6 if the host has it, and the user's clusters may need that. The range is a local one,
	// derived from the name; if it is in use, or the host has no IPv6, the network is created without it.
	h := sha256.Sum256([]byte("vsphere-sandbox " + name))
	v6 := fmt.Sprintf("fd%x:%x:%x:%x::/64", h[:1], h[1:3], h[3:5], h[5:7])
	err := rt.CreateNetwork(ctx, name, networkLabel+"=true", v6)
	if err != nil && context.Cause(ctx) == nil {
		err = rt.CreateNetwork(ctx, name, networkLabel+"=true", "")
	}
	if err != nil {
		if _, exists, again := rt.Network(ctx, name); again == nil && exists { // another process created it first
			return nil
		}
	}
	return err
}

// removeNetwork removes the network if a sandbox created it and no container uses it.
func removeNetwork(ctx context.Context, rt *runtime.Runtime) error {
	name := Network(rt)
	n, exists, err := rt.Network(ctx, name)
	if err != nil || !exists || n.Labels[networkLabel] == "" {
		return err
	}
	users, err := rt.InNetwork(ctx, name)
	if err != nil || len(users) > 0 {
		return err
	}
	if err := rt.RemoveNetwork(ctx, name); err != nil {
		if _, still, again := rt.Network(ctx, name); again == nil && !still { // another sandbox removed it
			return nil
		}
		return err
	}
	return nil
}

// certs is the folder where containerd looks for registry mirrors at each pull.
const certs = "/etc/containerd/certs.d"

// mirrorPatch configures that folder. The default is a list of two folders, which containerd's transfer service (2.4)
// takes for one name.
const mirrorPatch = `[plugins."io.containerd.cri.v1.images".registry]
  config_path = "` + certs + `"
`

// Mirror makes all nodes pull from the mirror at over plain HTTP, and from the named registries ("registry.k8s.io") only
// what it does not have. It lasts as long as the nodes, and needs Options.Mirrors.
func (c *Cluster) Mirror(ctx context.Context, at netip.AddrPort, registries ...string) error {
	var mu sync.Mutex
	var wait sync.WaitGroup
	var first error
	for _, node := range c.names() {
		wait.Go(func() {
			for _, registry := range registries {
				_, err := c.Exec(ctx, node, strings.NewReader(mirrorOf(registry, at)), "sh", "-c", `mkdir -p "$1" && cat >"$1/hosts.toml"`, "sh", path.Join(certs, registry))
				if err != nil {
					mu.Lock()
					first = fmt.Errorf("configure the nodes' registry mirror: %w", err)
					mu.Unlock()
					return
				}
			}
		})
	}
	wait.Wait()
	return first
}

// mirrorOf returns containerd's hosts.toml.
func mirrorOf(registry string, at netip.AddrPort) string {
	server := registry
	if registry == "docker.io" {
		server = "registry-1.docker.io" // the actual host of its images
	}
	return fmt.Sprintf("server = %q\n\n[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n", "https://"+server, "http://"+at.String())
}

// ServiceIP returns the n-th address, counted from 0, for a Service of ours. The addresses are at the end of the range
// from which an API server allocates only when the rest is used up (KEP-3070): below 10.96.0.255 in kind's default range.
// So it is free, and known before the cluster exists.
func (c *Cluster) ServiceIP(n int) (netip.Addr, error) {
	first := c.services.Masked().Addr()
	free := reserved(c.services)
	// The first reserved address is the API server's, the tenth the DNS server's; the first 16 are left to other programs.
	const others = 16
	if n < 0 || n >= free-others {
		return netip.Addr{}, fmt.Errorf("service subnet %s: does not have %d free reserved addresses: give the cluster a larger serviceSubnet", c.services, n+1)
	}
	b := new(big.Int).SetBytes(first.AsSlice())
	b.Add(b, big.NewInt(int64(free-1-n)))
	addr, _ := netip.AddrFromSlice(b.FillBytes(make([]byte, first.BitLen()/8)))
	return addr, nil
}

// ServiceSubnet returns the range of the Services' IPv4 addresses.
func (c *Cluster) ServiceSubnet() netip.Prefix { return c.services }

// PodSubnet returns the pods' range, or zero.
func (c *Cluster) PodSubnet() netip.Prefix { return c.pods }

// reserved returns the number of addresses at the start of a Services' range that are only allocated on request: a
// sixteenth of it, at least 16, at most 256.
func reserved(subnet netip.Prefix) int {
	size := 1 << min(subnet.Addr().BitLen()-subnet.Bits(), 16)
	if size <= 16 {
		return 0
	}
	return min(max(16, size/16), 256)
}

// ipv4 returns the IPv4 range of a cluster's subnets, which may have one of each family.
func ipv4(subnets string) (netip.Prefix, error) {
	for s := range strings.SplitSeq(subnets, ",") {
		p, err := netip.ParsePrefix(strings.TrimSpace(s))
		if err != nil {
			return netip.Prefix{}, fmt.Errorf("subnet %q: %w", s, err)
		}
		if p.Addr().Is4() {
			return p.Masked(), nil
		}
	}
	return netip.Prefix{}, fmt.Errorf("subnets %q: none has IPv4 addresses", subnets)
}

// Expose makes a program at target, an address host:port of this host, reachable for the nodes and their pods at the
// returned address, until [Cluster.Close] or [Cluster.Delete]. It does not change the bytes, so TLS ends at the target.
//
// The relay listens on this host's address in kind's network, and accepts connections from that network only: from its
// containers, and from programs on this host. Docker Desktop runs its daemon in a VM that reaches this host's 127.0.0.1
// by a DNS name; there the relay listens on 127.0.0.1, for all programs of this host and all its containers.
func (c *Cluster) Expose(ctx context.Context, target string) (netip.AddrPort, error) {
	if _, _, err := net.SplitHostPort(target); err != nil {
		return netip.AddrPort{}, fmt.Errorf("expose %q: want host:port", target)
	}
	if c.rt == nil {
		return netip.AddrPort{}, fmt.Errorf("expose %s: cluster %s was not created", target, c.Name())
	}
	if c.rt.Desktop(ctx) {
		return c.exposeDesktop(ctx, target)
	}
	name := Network(c.rt)
	n, exists, err := c.rt.Network(ctx, name)
	if err != nil {
		return netip.AddrPort{}, err
	}
	if !exists {
		return netip.AddrPort{}, fmt.Errorf("expose %s: network %s does not exist: create the cluster first", target, name)
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
			"the nodes cannot reach programs of this host: network %s of %s is in a network namespace or VM that this host cannot bind to", name, c.rt.Name())
	}
	return netip.AddrPort{}, fmt.Errorf("expose %s: %w", target, err)
}

func (c *Cluster) exposeDesktop(ctx context.Context, target string) (netip.AddrPort, error) {
	m := c.machines[0]
	out, err := c.Exec(ctx, m.Name, nil, "getent", "ahostsv4", runtime.HostName)
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	host, parsed := netip.ParseAddr(first)
	if err = errors.Join(err, parsed); err != nil {
		return netip.AddrPort{}, coded.New(Unreachable, "", err, "the nodes cannot resolve this host's name %s", runtime.HostName)
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
