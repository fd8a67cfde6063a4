package kind

import (
	"context"
	"fmt"
	"net/netip"
	"path"
	"strings"
	"sync"
)

// certs is where containerd looks for what it is to ask in place of a registry, whenever it does.
const certs = "/etc/containerd/certs.d"

// mirrorPatch has it look there. Its default is a list of two folders, which its transfer service (2.4) takes for the name of one.
const mirrorPatch = `[plugins."io.containerd.cri.v1.images".registry]
  config_path = "` + certs + `"
`

// Mirror has all nodes ask another registry first, over plain HTTP, when they pull from the named ones ("registry.k8s.io"), and
// those themselves for what it does not have. It is for as long as the nodes are, and takes
// Options.Mirrors.
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
					first = fmt.Errorf("have the nodes pull from this machine: %w", err)
					mu.Unlock()
					return
				}
			}
		})
	}
	wait.Wait()
	return first
}

// mirrorOf is what containerd reads.
func mirrorOf(registry string, at netip.AddrPort) string {
	server := registry
	if registry == "docker.io" {
		server = "registry-1.docker.io" // where its images are
	}
	return fmt.Sprintf("server = %q\n\n[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n", "https://"+server, "http://"+at.String())
}
