package up

import (
	"context"
	"fmt"
	"os"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	cli "github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tui"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui"
)

// screen is the terminal UI of the sandbox that this process boots. While it is open, the error stream is buffered.
type screen struct {
	stderr *heldWriter
	close  context.CancelFunc
	closed chan struct{}
	err    error // once it is closed
}

// openScreen opens the UI, and buffers the error stream of o. The sandbox need not exist yet. stop ends the sandbox, when
// the user wants that or the UI crashed.
func openScreen(ctx context.Context, o *options, dir *instance.Dir, stop context.CancelFunc) *screen {
	ctx, cancel := context.WithCancel(ctx)
	s := &screen{stderr: &heldWriter{w: o.Streams.Err, holding: true}, close: cancel, closed: make(chan struct{})}
	deps, streams := *o.Deps, *o.Streams
	streams.Err = s.stderr
	deps.Streams = &streams
	o.Deps = &deps

	opts := o.look.Options(o.Deps)
	cli.Attach(o.Deps, &opts, &command.Target{Sandbox: command.Sandbox{Name: o.name}, Client: api.NewClient(dir.SocketPath())})
	opts.Owned = true
	go func() {
		defer close(s.closed)
		outcome, err := tui.Run(ctx, opts)
		s.stderr.release()
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

// end closes the UI, and returns its error if it ended with one.
func (s *screen) end() error {
	if s == nil {
		return nil
	}
	s.close()
	<-s.closed
	return s.err
}
