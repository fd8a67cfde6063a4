package runtime

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
)

// Call is one run of a runtime's command.
type Call struct {
	// Args are those after the command's name.
	Args []string
	// Stdin may be nil: nothing is read. Stdout and Stderr may be nil: what is written there is lost.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Runner runs calls: on this machine, or in a test what the test says. It returns [*ExitError] when the command has ended
// with another status than 0, and ctx's error when ctx has ended it.
type Runner interface {
	Run(ctx context.Context, c Call) error
}

// Runtime is one container runtime. Make one with [New], [At] or [With]; its methods may be called from any goroutine, and each
// returns when the command behind it has ended. Containers are named by name or id.
type Runtime struct {
	name     string
	runner   Runner
	endpoint *string // of the daemon; nil is whichever the environment and the user's contexts name
}

// New returns the runtime whose command has that name: docker, podman, nerdctl, or finch, which is nerdctl by another name.
func New(name string) *Runtime { return With(name, command{name: name}) }

// With returns a runtime of that name whose calls go to runner.
func With(name string, runner Runner) *Runtime { return &Runtime{name: name, runner: runner} }

// Name is its command's.
func (r *Runtime) Name() string { return r.name }

// Kind is docker, podman or nerdctl.
func (r *Runtime) Kind() string {
	switch r.name {
	case "docker", "podman":
		return r.name
	}
	return "nerdctl"
}

// Output runs the command and returns what it has written to its standard output. Its errors are [*coded.Error].
func (r *Runtime) Output(ctx context.Context, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := r.Do(ctx, Call{Args: args, Stdout: &out})
	return out.Bytes(), err
}

// Do runs one call. Its errors are [*coded.Error], but for those of ctx; Stderr gets a copy of what the command says.
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

// tail keeps the last bytes that are written to it.
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

// ExitError is the end of a command with another status than 0.
type ExitError struct{ Status int }

func (e *ExitError) Error() string { return "exit status " + itoa(e.Status) }

// Status returns the exit status in err, or -1 if it has none.
func Status(err error) int {
	if e, ok := errors.AsType[*ExitError](err); ok {
		return e.Status
	}
	return -1
}
