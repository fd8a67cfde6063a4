package up

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	cli "github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tui"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui"
)

// screen is the terminal UI of the sandbox that this process boots. While it is open, what is said waits behind it.
type screen struct {
	curtain *curtain
	close   context.CancelFunc
	closed  chan struct{}
	err     error // once it is closed
}

// openScreen opens the UI, and draws the curtain before the error stream of o. The sandbox need not be there yet. stop
// ends the sandbox, when the person wants that or the UI crashed.
func openScreen(ctx context.Context, o *options, dir *instance.Dir, stop context.CancelFunc) *screen {
	ctx, cancel := context.WithCancel(ctx)
	s := &screen{curtain: &curtain{w: o.Streams.Err, drawn: true}, close: cancel, closed: make(chan struct{})}
	deps, streams := *o.Deps, *o.Streams
	streams.Err = s.curtain
	deps.Streams = &streams
	o.Deps = &deps

	opts := o.look.Options(o.Deps)
	cli.Attach(o.Deps, &opts, &command.Target{Sandbox: command.Sandbox{Name: o.name}, Client: api.NewClient(dir.SocketPath())})
	opts.Owned = true
	go func() {
		defer close(s.closed)
		outcome, err := tui.Run(ctx, opts)
		s.curtain.lift()
		switch {
		case err != nil:
			s.err = cli.Explain(err, "the sandbox was ended with it", command.Typed(os.Args[0])+o.nameFlag()+" up --detach, then "+command.Typed(os.Args[0])+o.nameFlag()+" tui")
			stop()
		case outcome.Stop:
			stop()
		case ctx.Err() == nil:
			fmt.Fprint(o.Streams.Err, "The sandbox keeps running. In a second terminal:\n", next(o), "\nCtrl-C stops it.\n")
			cli.TellLeases(o.Deps, outcome)
		}
	}()
	return s
}

// end closes the UI, and returns why it ended by itself, if it did for an error.
func (s *screen) end() error {
	if s == nil {
		return nil
	}
	s.close()
	<-s.closed
	return s.err
}

// curtain is a writer that keeps what is written until it is lifted.
type curtain struct {
	mu    sync.Mutex
	w     io.Writer
	kept  bytes.Buffer
	drawn bool
}

// Write implements [io.Writer].
func (c *curtain) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.drawn {
		return c.kept.Write(b)
	}
	return c.w.Write(b)
}

// lift writes what was kept, and from then on at once.
func (c *curtain) lift() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drawn = false
	_, _ = c.kept.WriteTo(c.w) // nobody listens any more
}
