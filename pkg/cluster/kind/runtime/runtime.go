package runtime

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
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
