package runtime

import (
	"context"
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
)

// Remote returns where the daemon is when it is on another machine, "" when it is on this one or that cannot be told. What
// is mounted in containers is then that machine's, and it reaches no loopback address of this one.
func (r *Runtime) Remote(ctx context.Context) string {
	host, fixed := r.Endpoint()
	if !fixed {
		host, _ = r.daemon(ctx)
	}
	if strings.HasPrefix(host, "ssh://") || strings.HasPrefix(host, "tcp://") || strings.HasPrefix(host, "http") {
		return host
	}
	return ""
}

// Capacity is what the machine of the containers has.
type Capacity struct {
	CPUs        int
	MemoryBytes uint64
}

// Capacity tells what there is for all containers together.
func (r *Runtime) Capacity(ctx context.Context) (Capacity, error) {
	format := "{{.NCPU}} {{.MemTotal}}"
	if r.Kind() == "podman" {
		format = "{{.Host.CPUs}} {{.Host.MemTotal}}"
	}
	out, err := r.Output(ctx, "info", "--format", format)
	if err != nil {
		return Capacity{}, err
	}
	var c Capacity
	if _, err := fmt.Sscan(string(out), &c.CPUs, &c.MemoryBytes); err != nil {
		return Capacity{}, fmt.Errorf("%s info: what the machine has cannot be made out: %q", r.name, shorten.FirstLine(string(out)))
	}
	return c, nil
}

// Desktop tells whether the daemon is in a virtual machine of Docker Desktop's, or the like, from where this machine is
// reached by a name ([HostName]) and never by the gateway of a network.
func (r *Runtime) Desktop(ctx context.Context) bool {
	if r.Kind() != "docker" {
		return false
	}
	out, err := r.Output(ctx, "info", "--format", "{{.OperatingSystem}}")
	return err == nil && strings.Contains(strings.ToLower(string(out)), "desktop")
}

// HostName is the name by which containers of a [Runtime.Desktop] reach loopback addresses of this machine.
const HostName = "host.docker.internal"
