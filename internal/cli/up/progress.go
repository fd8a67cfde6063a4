package up

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	cli "github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tui"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui"
)

// beat is how often something is said while one step takes its time.
const beat = 4 * time.Second

// progress shows a boot: a line for each step that is done, and what it waits for. On a terminal the latter is one line
// that changes; elsewhere it is printed again every few seconds.
type progress struct {
	w   io.Writer
	tty bool

	mu     sync.Mutex
	now    sandbox.Progress
	since  time.Time
	shown  bool // a changing line stands
	closed bool
	done   chan struct{}
}

func newProgress(w io.Writer, tty bool) *progress {
	p := &progress{w: w, tty: tty, done: make(chan struct{})}
	go func() {
		tick := time.NewTicker(beat)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.beat()
			case <-p.done:
				return
			}
		}
	}()
	return p
}

// show takes the place of what was shown.
func (p *progress) show(s sandbox.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if s.Step != p.now.Step || s.Name != p.now.Name {
		p.since = time.Now()
	}
	p.now = s
	if s.Done {
		p.clear()
		fmt.Fprintf(p.w, "  ✓ %-26s %6.2fs\n", s.Name, s.Took.Seconds())
		return
	}
	if p.tty {
		p.line()
	}
}

func (p *progress) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.now.Done || p.now.Name == "" || time.Since(p.since) < beat {
		return
	}
	if p.tty {
		p.line()
		return
	}
	fmt.Fprintf(p.w, "  … %s (%.0fs)\n", text(p.now), time.Since(p.since).Seconds())
}

// line rewrites the changing line.
func (p *progress) line() {
	p.clear()
	line := []rune(fmt.Sprintf("  … %s", text(p.now)))
	fmt.Fprint(p.w, string(line[:min(len(line), 78)]))
	p.shown = true
}

func text(s sandbox.Progress) string {
	if s.Detail == "" {
		return s.Name
	}
	return printable.Line(s.Name + ": " + s.Detail)
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}

// close ends it; later calls of show do nothing.
func (p *progress) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	p.clear()
	close(p.done)
}

// reportBuilds prints to w what becomes of builds of a watched program, for a user with the terminal of "up" beside the
// editor. The returned function ends that, and waits for it.
func reportBuilds(ctx context.Context, w io.Writer, log *event.Log) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for last := log.Last(); ; {
			events, _, err := log.Wait(ctx, last, 0)
			if err != nil {
				return
			}
			for _, e := range events {
				last = e.Seq
				if line := build(e); line != "" {
					fmt.Fprintln(w, printable.Lines(line))
				}
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// build is what is said of an event, "" of most.
func build(e event.Event) string {
	switch e.Kind {
	case "ccm.rebuilt", "ccm.swapped", "csi.rebuilt", "csi.swapped":
		return strings.TrimSpace(e.Kind[:len("ccm")] + ": " + e.Message)
	case "ccm.swap-failed", "ccm.watch-ended", "csi.swap-failed", "csi.watch-ended":
		return e.Kind[:len("ccm")] + ": \u2717 " + e.Message
	}
	return ""
}

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
			cli.WarnLeases(o.Deps, outcome)
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

// stickyWriter is a writer for several goroutines that discards output after the first error: the sandbox continues when its
// reader has gone.
type stickyWriter struct {
	mu  sync.Mutex
	w   io.Writer
	err error // the first
}

// Write implements [io.Writer].
func (v *stickyWriter) Write(b []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err != nil {
		return 0, v.err
	}
	n, err := v.w.Write(b)
	v.err = err
	return n, err
}

// withStickyStderr returns d with an error stream that is a stickyWriter.
func withStickyStderr(d *command.Deps) *command.Deps {
	deps, streams := *d, *d.Streams
	streams.Err = &stickyWriter{w: d.Streams.Err}
	deps.Streams = &streams
	return &deps
}

// heldWriter is a writer that buffers output until release is called.
type heldWriter struct {
	mu      sync.Mutex
	w       io.Writer
	buffer  bytes.Buffer
	holding bool
}

// Write implements [io.Writer].
func (c *heldWriter) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holding {
		return c.buffer.Write(b)
	}
	return c.w.Write(b)
}

// release writes the buffered output, and all later output at once.
func (c *heldWriter) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holding = false
	_, _ = c.buffer.WriteTo(c.w) // the reader may have gone
}
