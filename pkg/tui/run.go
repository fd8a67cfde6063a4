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

// ErrCrashed is returned by [Run] after a panic of the UI. The terminal is restored, and has the reason.
var ErrCrashed = errors.New("the terminal UI crashed")

// Run shows the UI until the user leaves it or ctx ends, which is no error. It restores the terminal, even after a panic.
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

// Sandbox is what the UI needs of a sandbox: an [api.Client].
type Sandbox interface {
	intent.Sandbox
	Status(ctx context.Context) (api.Status, error)
	Watch(ctx context.Context, after uint64, f func(api.Update) error) error
	FaultKinds(ctx context.Context) ([]api.FaultKind, error)
	Explain(ctx context.Context, s api.Subject) (api.Explanation, error)
	Inspect(ctx context.Context, s api.Subject) (api.Inspection, error)
}

// Options configure the UI.
type Options struct {
	// Sandbox is the sandbox to show. Set either it or Player.
	Sandbox Sandbox
	// Player plays a recording, without actions.
	Player *replay.Player
	// PlaySpeed is the number of recorded seconds in a second. Default: 1.
	PlaySpeed float64

	// Name is the sandbox's name in command lines; "" for the default sandbox.
	Name string
	// ReadOnly refuses all changes, until ctrl+r turns it off.
	ReadOnly bool
	// Locked keeps read-only mode on.
	Locked bool
	// Owned makes quit ask whether to stop the sandbox.
	Owned bool
	// Mouse enables the mouse. The terminal then does not select text with it.
	Mouse bool
	// Theme is dark, light or mono; "" asks the terminal.
	Theme string

	// Logs follows the log of a component: it calls f with the last lines, then with new ones, until ctx ends.
	Logs func(ctx context.Context, component string, f func(lines []string)) error
	// Now is the clock. Default: time.Now.
	Now func() time.Time

	// Input and Output are the terminal, Environ its environment. Default: those of the process.
	Input   io.Reader
	Output  io.Writer
	Environ []string
}

// Outcome is the result of the UI.
type Outcome struct {
	// Stop means that the user wants the sandbox to stop.
	Stop bool
	// Leases is the number of faults that are still injected.
	Leases int
}

// crash is a panic of a goroutine outside of bubbletea. The model panics with it, so that bubbletea restores the terminal.
type crash struct {
	reason any
	stack  []byte
}

func (c *crash) Error() string { return fmt.Sprintf("%v\n\n%s", c.reason, c.stack) }

// guard is deferred by such a goroutine, and reports its panic.
func guard(report func(error)) {
	if r := recover(); r != nil {
		report(&crash{r, debug.Stack()})
	}
}

// raise panics if err is a crash.
func raise(err error) {
	if c, ok := errors.AsType[*crash](err); ok {
		panic(c.Error())
	}
}
