package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
)

// Network is what a runtime knows of a network of containers.
type Network struct {
	ID     string
	Labels map[string]string
	// Subnets are the ranges of its addresses, Gateways those of this machine in them, as far as it has any.
	Subnets  []netip.Prefix
	Gateways []netip.Addr
}

// Network tells of a network; ok is false when there is none of that name.
func (r *Runtime) Network(ctx context.Context, name string) (_ Network, ok bool, err error) {
	names, err := r.names(ctx, "network", "ls", "--filter", "name=^"+regexp.QuoteMeta(name)+"$", "--format", "{{.Name}}")
	if err != nil || !slices.Contains(names, name) {
		return Network{}, false, err
	}
	out, err := r.Output(ctx, "network", "inspect", name)
	if err != nil {
		return Network{}, false, err
	}
	n, err := parseNetwork(out)
	if err != nil {
		return Network{}, false, fmt.Errorf("%s network inspect %s: %w", r.name, name, err)
	}
	return n, true, nil
}

// parseNetwork reads docker's and nerdctl's form, and podman's.
func parseNetwork(out []byte) (Network, error) {
	type pool struct{ Subnet, Gateway string }
	var raw []struct {
		ID      string // docker's Id too: names are compared without case
		Labels  map[string]string
		IPAM    struct{ Config []pool }
		Subnets []pool // podman
	}
	if err := json.Unmarshal(out, &raw); err != nil {
		return Network{}, err
	}
	if len(raw) == 0 {
		return Network{}, fmt.Errorf("says nothing")
	}
	n := Network{ID: raw[0].ID, Labels: raw[0].Labels}
	for _, p := range append(raw[0].IPAM.Config, raw[0].Subnets...) {
		subnet, err := netip.ParsePrefix(p.Subnet)
		if err != nil {
			continue
		}
		n.Subnets = append(n.Subnets, subnet)
		gateway, err := netip.ParseAddr(p.Gateway)
		if err != nil && subnet.Addr().Is4() { // docker tells it once a container was in the network: the first address
			gateway = subnet.Masked().Addr().Next()
		}
		if gateway.IsValid() {
			n.Gateways = append(n.Gateways, gateway)
		}
	}
	return n, nil
}

// CreateNetwork makes a bridge network with a label; with IPv6 addresses, too, of the range v6 unless that is "".
func (r *Runtime) CreateNetwork(ctx context.Context, name, label, v6 string) error {
	args := []string{"network", "create", "--driver", "bridge", "--label", label}
	if r.Kind() == "docker" {
		args = append(args, "--opt", "com.docker.network.bridge.enable_ip_masquerade=true")
	}
	if v6 != "" {
		args = append(args, "--ipv6", "--subnet", v6)
	}
	return r.run(ctx, append(args, name)...)
}

// RemoveNetwork removes a network in which there is no container.
func (r *Runtime) RemoveNetwork(ctx context.Context, name string) error {
	return r.run(ctx, "network", "rm", name)
}

// InNetwork returns the names of all containers that belong to a network, running or not.
func (r *Runtime) InNetwork(ctx context.Context, name string) ([]string, error) {
	return r.names(ctx, "ps", "--all", "--filter", "network="+name, "--format", "{{.Names}}")
}
