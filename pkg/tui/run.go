package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/replay"
)

// ErrCrashed is what [Run] returns when the UI itself failed. The terminal is as it was before, and the reason was
// written to it.
var ErrCrashed = errors.New("the terminal UI crashed")

// Run shows the UI until the person leaves it or ctx ends, which is no error. The terminal is as it was before when it
// returns, also when a panel crashed.
func Run(ctx context.Context, o Options) (Outcome, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	return run(ctx, NewModel(inner, o))
}

func run(ctx context.Context, m *Model, more ...tea.ProgramOption) (Outcome, error) {
	o, opts := m.opts, append(programOptions(ctx), more...)
	if o.Input != nil {
		opts = append(opts, tea.WithInput(o.Input))
	}
	if o.Output != nil {
		opts = append(opts, tea.WithOutput(o.Output))
	}
	if o.Environ != nil {
		opts = append(opts, tea.WithEnvironment(o.Environ))
	}
	_, err := tea.NewProgram(m, opts...).Run()
	switch {
	case err == nil, ctx.Err() != nil && !errors.Is(err, tea.ErrProgramPanic):
		return m.outcome, nil
	case errors.Is(err, tea.ErrProgramPanic):
		return m.outcome, fmt.Errorf("%w: %w", ErrCrashed, err)
	}
	return m.outcome, err
}

// programOptions are those of every terminal.
func programOptions(ctx context.Context) []tea.ProgramOption {
	return []tea.ProgramOption{tea.WithContext(ctx), tea.WithoutSignalHandler(), tea.WithFPS(30)}
}

// Sandbox is what the UI asks of a sandbox: an [api.Client].
type Sandbox interface {
	intent.Sandbox
	Status(ctx context.Context) (api.Status, error)
	Watch(ctx context.Context, after uint64, f func(api.Update) error) error
	FaultKinds(ctx context.Context) ([]api.FaultKind, error)
	Explain(ctx context.Context, s api.Subject) (api.Explanation, error)
	Inspect(ctx context.Context, s api.Subject) (api.Inspection, error)
}

// Options say what is shown, and where.
type Options struct {
	// Sandbox is what is shown and acted upon. Exactly one of it and Player is set.
	Sandbox Sandbox
	// Player plays a recording. Nothing can be done then.
	Player *replay.Player
	// PlaySpeed is how many seconds of the recording pass in one. Default: 1.
	PlaySpeed float64

	// Name is the sandbox's, as the command lines that are shown have to name it; "" for the one that needs no name.
	Name string
	// ReadOnly refuses all that would change something, until ctrl+r turns it off.
	ReadOnly bool
	// Locked keeps read-only mode on.
	Locked bool
	// Owned: quitting asks whether the sandbox is to end, too.
	Owned bool
	// Mouse takes the mouse, which the terminal then does not select text with.
	Mouse bool
	// Theme is dark, light or mono; "" asks the terminal.
	Theme string

	// Logs follows the log of a component: it calls f with lines, the last of those there are first, until ctx ends.
	Logs func(ctx context.Context, component string, f func(lines []string)) error
	// Now is the clock. Default: time.Now.
	Now func() time.Time

	// Input and Output are the terminal, Environ its environment. Default: those of the process.
	Input   io.Reader
	Output  io.Writer
	Environ []string
}

// Outcome is how the UI was left.
type Outcome struct {
	// Stop: the sandbox is to end.
	Stop bool
	// Leases is how many faults are still injected.
	Leases int
}

// crash is a panic of a goroutine that bubbletea knows nothing of. The model panics with it in turn: then the terminal is
// given back.
type crash struct {
	reason any
	stack  []byte
}

func (c *crash) Error() string { return fmt.Sprintf("%v\n\n%s", c.reason, c.stack) }

// guard is deferred by such a goroutine, and reports its panic.
func guard(tell func(error)) {
	if r := recover(); r != nil {
		tell(&crash{r, debug.Stack()})
	}
}

// raise panics when err is a crash.
func raise(err error) {
	if c, ok := errors.AsType[*crash](err); ok {
		panic(c.Error())
	}
}
