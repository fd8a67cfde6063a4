package runtime

import (
	"context"
	"os"
	"strings"
)

// At returns the runtime of that name whose daemon answers at endpoint, as [Runtime.Endpoint] tells it, whatever the environment
// and the user's contexts say.
func At(name, endpoint string) *Runtime {
	r := &Runtime{name: name, endpoint: &endpoint}
	r.runner = command{name: name, env: environ(os.Environ(), r.Kind(), endpoint)}
	return r
}

// Fixed returns the same runtime with the daemon that it has now: contexts of the user's may change, and containers stay where they
// are. One whose daemon cannot be told is returned as it is, and so is one whose commands a [Runner] runs that is not ours.
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

// Endpoint is where the daemon answers of a runtime that is fixed to one; "" is the runtime's own default.
func (r *Runtime) Endpoint() (endpoint string, fixed bool) {
	if r.endpoint == nil {
		return "", false
	}
	return *r.endpoint, true
}

// daemon tells where the daemon answers; ok is false when that cannot be told.
func (r *Runtime) daemon(ctx context.Context) (endpoint string, ok bool) {
	if r.Kind() != "docker" {
		return os.Getenv(addressEnv(r.Kind())), true
	}
	out, err := r.Output(ctx, "context", "inspect", "--format", "{{.Endpoints.docker.Host}}") // DOCKER_HOST included
	endpoint = strings.TrimSpace(string(out))
	return endpoint, err == nil && endpoint != ""
}

// addressEnv is the variable by which a runtime is told its daemon's address.
func addressEnv(kind string) string {
	switch kind {
	case "docker":
		return "DOCKER_HOST"
	case "podman":
		return "CONTAINER_HOST"
	}
	return "CONTAINERD_ADDRESS"
}

// environ is an environment in which the daemon at endpoint is asked. What names another goes, and with it how that one is spoken
// to: a daemon on this machine has neither keys nor certificates.
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
