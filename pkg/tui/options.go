package tui

import (
	"context"
	"io"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/replay"
)

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
