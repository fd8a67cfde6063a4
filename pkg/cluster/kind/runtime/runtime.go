package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
)

// Call is one run of a runtime's command.
type Call struct {
	// Args are the arguments after the command's name.
	Args []string
	// Stdin may be nil for no input, Stdout and Stderr to discard the output.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Runner runs calls: on this host, or in a test. It returns [*ExitError] for a non-zero exit status, and ctx's error when
// ctx has ended the command.
type Runner interface {
	Run(ctx context.Context, c Call) error
}

// Runtime is a container runtime. Create one with [New], [At] or [With]. Its methods may be called from any goroutine,
// and return when the command behind them has ended. Containers are given by name or id.
type Runtime struct {
	name     string
	runner   Runner
	endpoint *string // of the daemon; nil: from the environment and the user's contexts
}

// New returns the runtime of a command: docker, podman, nerdctl, or finch, which is compatible to nerdctl.
func New(name string) *Runtime { return With(name, command{name: name}) }

// With returns a runtime of that name whose calls go to runner.
func With(name string, runner Runner) *Runtime { return &Runtime{name: name, runner: runner} }

// Name returns its command's name.
func (r *Runtime) Name() string { return r.name }

// Kind returns docker, podman or nerdctl.
func (r *Runtime) Kind() string {
	switch r.name {
	case "docker", "podman":
		return r.name
	}
	return "nerdctl"
}

// Output runs the command and returns its standard output. Its errors are [*coded.Error].
func (r *Runtime) Output(ctx context.Context, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := r.Do(ctx, Call{Args: args, Stdout: &out})
	return out.Bytes(), err
}

// Do runs one call. Its errors are [*coded.Error], except for those of ctx. Stderr also gets the command's error output.
func (r *Runtime) Do(ctx context.Context, c Call) error {
	said := &tail{max: 4 << 10}
	if c.Stderr == nil {
		c.Stderr = said
	} else {
		c.Stderr = io.MultiWriter(c.Stderr, said)
	}
	err := r.runner.Run(ctx, c)
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return r.explain(c.Args, err, said.String())
}

// tail keeps the last bytes written to it.
type tail struct {
	max  int
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - t.max; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.TrimSpace(string(t.kept)) }

// ExitError is a non-zero exit status.
type ExitError struct{ Status int }

func (e *ExitError) Error() string { return "exit status " + strconv.Itoa(e.Status) }

// Status returns the exit status in err, or -1 if it has none.
func Status(err error) int {
	if e, ok := errors.AsType[*ExitError](err); ok {
		return e.Status
	}
	return -1
}

// Codes of a [coded.Error]: stable kebab-case ids.
const (
	Missing          = "runtime-missing" // its command is not installed
	Stopped          = "runtime-stopped" // its daemon does not respond
	Denied           = "runtime-denied"  // its daemon denies access to this user
	Old              = "runtime-old"     // a release that kind does not support
	ContainerMissing = "container-missing"
	ContainerStopped = "container-stopped" // nothing can be run in it
	ImageMissing     = "image-missing"     // neither local nor in a registry
	Failed           = "runtime-failed"    // anything else; the message has the command's
)

// explain classifies a failed command by its output: docker, podman and nerdctl have no exit statuses or codes for that.
func (r *Runtime) explain(args []string, err error, said string) error {
	if errors.Is(err, exec.ErrNotFound) {
		return coded.New(Missing, fmt.Sprintf("install %s, or add it to the PATH", r.name), nil, "%s is not installed", r.name)
	}
	words := strings.ToLower(said)
	has := func(any ...string) bool {
		for _, s := range any {
			if strings.Contains(words, s) {
				return true
			}
		}
		return false
	}
	// The daemon's report of an unreachable registry shows that the daemon responds.
	answers := has("error response from daemon", "container registry")
	switch last := shorten.LastLines(said, 1); {
	case has("permission denied") && has("socket", "daemon", ".sock"):
		return coded.New(Denied, r.admission(), nil, "%s denies access to this user: %s", r.name, last)
	case !answers && has("cannot connect to the", "is the docker daemon running", "unable to connect to podman", "cannot access containerd socket", "rootless containerd not running",
		"error during connect", "connection refused", "dial unix"):
		return coded.New(Stopped, r.start(), nil, "%s is installed, but its daemon does not respond: %s", r.name, last)
	case has("no such container", "no container with name or id", "no such object", "no container found"):
		return coded.New(ContainerMissing, "", nil, "%s %s: the container does not exist: %s", r.name, verb(args), last)
	case has("no such image", "image not known"):
		return coded.New(ImageMissing, "", nil, "%s %s: the image is not on this host: %s", r.name, verb(args), last)
	case has("is not running", "can only create exec sessions on running containers", "container state improper", "is paused"):
		return coded.New(ContainerStopped, "", nil, "%s %s: the container does not run: %s", r.name, verb(args), last)
	case said == "":
		return coded.New(Failed, "", err, "%s %s", r.name, verb(args))
	default:
		return coded.New(Failed, "", err, "%s %s: %s", r.name, verb(args), last)
	}
}

// admission returns how a user gets access.
func (r *Runtime) admission() string {
	if r.Kind() == "docker" {
		return "sudo usermod -aG docker \"$USER\", then log in again (members of that group are root on this host)\nor run as root"
	}
	return "run as root, or as a user for whom " + r.name + " is set up rootless"
}

func (r *Runtime) start() string {
	switch r.Kind() {
	case "docker":
		return "sudo systemctl start docker, or start Docker Desktop\nDOCKER_HOST and `docker context ls` show which daemon is used"
	case "podman":
		return "podman machine start, where Podman runs in a VM"
	}
	return "sudo systemctl start containerd"
}

// restart returns what to do about a daemon that hangs.
func (r *Runtime) restart() string {
	if r.Kind() == "docker" {
		return "sudo systemctl restart docker, or restart Docker Desktop\nDOCKER_HOST and `docker context ls` show which daemon is used"
	}
	return "see what " + r.name + " is busy with, and try again"
}

// verb returns the subcommand of a call: its first words that are no flags.
func verb(args []string) string {
	var words []string
	for _, a := range args {
		if strings.HasPrefix(a, "-") || len(words) == 2 {
			break
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

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
