package kind

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/big"
	"net/netip"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/relay"
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
// returned address, until [Cluster.Close] or [Cluster.Delete]; see package relay.
func (c *Cluster) Expose(ctx context.Context, target string) (netip.AddrPort, error) {
	if c.rt == nil {
		return netip.AddrPort{}, fmt.Errorf("expose %s: cluster %s was not created", target, c.Name())
	}
	door, err := relay.Find(ctx, c.rt, Network(c.rt), c.Container(c.machines[0].Name))
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("expose %s: %w", target, err)
	}
	r, err := door.Open(ctx, target, 0)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("expose %s: %w", target, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.relays = append(c.relays, r)
	return r.Addr(), nil
}

// Clusters returns the names of all kind clusters, also of those that another program created.
func Clusters(ctx context.Context, rt *runtime.Runtime) ([]string, error) {
	return rt.Values(ctx, clusterLabel)
}

// Door returns where the nodes and pods of a kind cluster, also of one that another program created, reach this host.
func Door(ctx context.Context, rt *runtime.Runtime, cluster string) (*relay.Door, error) {
	nodes, err := rt.List(ctx, clusterLabel, cluster)
	if err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		return nil, coded.New(NoCluster, "kind get clusters\nkind create cluster --name "+cluster, nil, "there is no kind cluster %q in %s", cluster, rt.Name())
	}
	return relay.Find(ctx, rt, Network(rt), nodes[0])
}
