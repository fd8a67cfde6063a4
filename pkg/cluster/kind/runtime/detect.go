package runtime

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
)

// ProviderEnv is kind's environment variable for the runtime.
const ProviderEnv = "KIND_EXPERIMENTAL_PROVIDER"

// Detect returns the runtime to use: the one in the environment variable KIND_EXPERIMENTAL_PROVIDER; otherwise the first
// of docker, nerdctl, finch and podman, kind's order, that is installed and responds. If none responds, the error is that
// of the first that is installed; if none is installed it has the code [Missing].
func Detect(ctx context.Context) (*Runtime, error) {
	return detect(ctx, os.Getenv(ProviderEnv), New)
}

func detect(ctx context.Context, asked string, open func(name string) *Runtime) (*Runtime, error) {
	names := []string{"docker", "nerdctl", "finch", "podman"}
	switch asked {
	case "":
	case "docker", "podman", "nerdctl", "finch", "nerdctl.lima":
		names = []string{asked}
	default:
		return nil, coded.New(Missing, "docker, podman or nerdctl; or leave it unset", nil, "%s=%s: kind does not support this runtime", ProviderEnv, asked)
	}
	var first error
	for _, name := range names {
		r := open(name)
		err := r.Check(ctx)
		if err == nil {
			return r, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		if first == nil && !coded.Is(err, Missing) {
			first = err
		}
	}
	if first != nil {
		return nil, first
	}
	return nil, coded.New(Missing, "install Docker (apt-get install docker.io, or docker.com), Podman or nerdctl\nor use --cluster embedded, which needs none",
		nil, "no container runtime is installed: kind needs %s", strings.Join(names, ", "))
}

// answerTime is the timeout for trivial requests, even on a busy host: a daemon that hangs would block commands forever.
const answerTime = 20 * time.Second

// Answer returns nil when the daemon has responded, or why it has not.
func (r *Runtime) Answer(ctx context.Context) error {
	ctx, cancel := r.patience(ctx)
	defer cancel()
	return r.run(ctx, "version")
}

// patience returns a context that ends after answerTime, with an [coded.Error] that says so.
func (r *Runtime) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, answerTime, coded.New(Stopped, r.restart(), nil, "%s is installed, but has not responded within %s", r.name, answerTime))
}

// Check returns why this runtime cannot run kind: it is missing, stopped, does not respond, denies access to this user,
// or is too old. It returns nil if it can.
func (r *Runtime) Check(ctx context.Context) error {
	ctx, cancel := r.patience(ctx)
	defer cancel()
	out, err := r.Output(ctx, "--version")
	if err != nil {
		return err
	}
	said := strings.ToLower(strings.TrimSpace(string(out)))
	if !strings.HasPrefix(said, r.Kind()+" version") && !strings.HasPrefix(said, r.name+" version") {
		// On some systems docker is an alias of podman.
		return coded.New(Missing, "", nil, "%s is not %s: it says it is %q", r.name, r.Kind(), shorten.FirstLine(said))
	}
	if r.Kind() == "docker" {
		return r.checkDocker(ctx)
	}
	if _, err := r.Output(ctx, "info"); err != nil {
		return err
	}
	if major, _, _ := strings.Cut(strings.TrimPrefix(said, "podman version "), "."); r.Kind() == "podman" {
		if n, err := strconv.Atoi(major); err == nil && n < 4 {
			return coded.New(Old, "install Podman 4 or later", nil, "%s is too old for these nodes", shorten.FirstLine(said))
		}
	}
	return nil
}

// checkDocker asks the daemon. kind's nodes need private cgroup namespaces, which Docker has since API 1.41 (20.10).
func (r *Runtime) checkDocker(ctx context.Context) error {
	out, err := r.Output(ctx, "version", "--format", "{{.Server.APIVersion}} {{.Server.Version}}")
	if err != nil {
		return err
	}
	api, release, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	major, minor, ok := strings.Cut(api, ".")
	x, errX := strconv.Atoi(major)
	y, errY := strconv.Atoi(minor)
	if !ok || errors.Join(errX, errY) != nil {
		return coded.New(Failed, "", nil, "docker version: unexpected output: %q", shorten.FirstLine(string(out)))
	}
	if x < 1 || x == 1 && y < 41 {
		return coded.New(Old, "install Docker 20.10 or later", nil, "Docker %s is too old for kind: its API is %s, and 1.41 is needed", release, api)
	}
	return nil
}
