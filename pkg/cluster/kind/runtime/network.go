package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Network is the runtime's description of a network.
type Network struct {
	ID     string
	Labels map[string]string
	// Subnets are the address ranges, Gateways this host's addresses in them, if any.
	Subnets  []netip.Prefix
	Gateways []netip.Addr
}

// Network returns a network; ok is false if it does not exist.
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
		ID      string // also docker's Id: the decoder ignores case
		Labels  map[string]string
		IPAM    struct{ Config []pool }
		Subnets []pool // podman
	}
	if err := json.Unmarshal(out, &raw); err != nil {
		return Network{}, err
	}
	if len(raw) == 0 {
		return Network{}, fmt.Errorf("empty output")
	}
	n := Network{ID: raw[0].ID, Labels: raw[0].Labels}
	for _, p := range append(raw[0].IPAM.Config, raw[0].Subnets...) {
		subnet, err := netip.ParsePrefix(p.Subnet)
		if err != nil {
			continue
		}
		n.Subnets = append(n.Subnets, subnet)
		gateway, err := netip.ParseAddr(p.Gateway)
		if err != nil && subnet.Addr().Is4() { // docker omits the gateway until a container was in the network: the first address
			gateway = subnet.Masked().Addr().Next()
		}
		if gateway.IsValid() {
			n.Gateways = append(n.Gateways, gateway)
		}
	}
	return n, nil
}

// CreateNetwork creates a bridge network with a label, and with the IPv6 range v6 unless that is "".
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

// RemoveNetwork removes a network without containers.
func (r *Runtime) RemoveNetwork(ctx context.Context, name string) error {
	return r.run(ctx, "network", "rm", name)
}

// Networks returns the names of all networks.
func (r *Runtime) Networks(ctx context.Context) ([]string, error) {
	return r.names(ctx, "network", "ls", "--format", "{{.Name}}")
}

// InNetwork returns the names of all containers in a network, running or not.
func (r *Runtime) InNetwork(ctx context.Context, name string) ([]string, error) {
	return r.names(ctx, "ps", "--all", "--filter", "network="+name, "--format", "{{.Names}}")
}

// List returns the names of all containers with the label and value, running or not.
func (r *Runtime) List(ctx context.Context, label, value string) ([]string, error) {
	return r.names(ctx, "ps", "--all", "--filter", "label="+label+"="+value, "--format", "{{.Names}}")
}

// Values returns the values that a label has in all containers, running or not, each once.
func (r *Runtime) Values(ctx context.Context, label string) ([]string, error) {
	format := `{{.Label "` + label + `"}}`
	if r.Kind() == "podman" {
		format = `{{index .Labels "` + label + `"}}`
	}
	all, err := r.names(ctx, "ps", "--all", "--filter", "label="+label, "--format", format)
	slices.Sort(all)
	return slices.Compact(all), err
}

// names returns the words of a command's output.
func (r *Runtime) names(ctx context.Context, args ...string) ([]string, error) {
	out, err := r.Output(ctx, args...)
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(out)), nil
}

// At returns the runtime whose daemon has this endpoint (see [Runtime.Endpoint]), independent of the environment and the
// user's contexts.
func At(name, endpoint string) *Runtime {
	r := &Runtime{name: name, endpoint: &endpoint}
	r.runner = command{name: name, env: environ(os.Environ(), r.Kind(), endpoint)}
	return r
}

// Fixed returns the same runtime, bound to the daemon that it uses now: the user may switch contexts, but containers
// stay. It returns r unchanged if the daemon is unknown, or if the [Runner] is not the default one.
func (r *Runtime) Fixed(ctx context.Context) *Runtime {
	if _, ours := r.runner.(command); !ours || r.endpoint != nil {
		return r
	}
	endpoint, ok := r.daemon(ctx)
	if !ok {
		return r
	}
	return At(r.name, endpoint)
}

// Endpoint returns the daemon's endpoint of a runtime that is bound to one; "" is the runtime's default.
func (r *Runtime) Endpoint() (endpoint string, fixed bool) {
	if r.endpoint == nil {
		return "", false
	}
	return *r.endpoint, true
}

// daemon returns the daemon's endpoint; ok is false if it is unknown.
func (r *Runtime) daemon(ctx context.Context) (endpoint string, ok bool) {
	if r.Kind() != "docker" {
		return os.Getenv(addressEnv(r.Kind())), true
	}
	out, err := r.Output(ctx, "context", "inspect", "--format", "{{.Endpoints.docker.Host}}") // DOCKER_HOST included
	endpoint = strings.TrimSpace(string(out))
	return endpoint, err == nil && endpoint != ""
}

// addressEnv returns the variable that sets the daemon's address of a runtime.
func addressEnv(kind string) string {
	switch kind {
	case "docker":
		return "DOCKER_HOST"
	case "podman":
		return "CONTAINER_HOST"
	}
	return "CONTAINERD_ADDRESS"
}

// environ returns an environment for the daemon at endpoint: without variables that select another daemon, or its keys
// and certificates, which a local daemon does not need.
func environ(env []string, kind, endpoint string) []string {
	var all []string
	for _, e := range env {
		switch name, _, _ := strings.Cut(e, "="); name {
		case addressEnv(kind), "DOCKER_CONTEXT", "DOCKER_TLS", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "CONTAINER_CONNECTION":
		default:
			all = append(all, e)
		}
	}
	if endpoint == "" {
		return all
	}
	return append(all, addressEnv(kind)+"="+endpoint)
}

// command runs the program of that name.
type command struct {
	name string
	env  []string // nil: that of this process
}

// grace is how long a terminated program may still run, and its children may keep its output open.
const grace = 5 * time.Second

func (of command) Run(ctx context.Context, c Call) error {
	cmd := exec.CommandContext(ctx, of.name, c.Args...)
	cmd.Env = of.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	cmd.WaitDelay = grace
	apart(cmd)
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &ExitError{Status: exit.ExitCode()}
	}
	return err
}
