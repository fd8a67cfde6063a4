package tutorial

import (
	"context"
	"io"
	"strings"
	"sync"
)

// terminal is a shell and what runs in it. start, interrupt and close are called by one goroutine.
type terminal struct {
	shell  Shell
	busy   *Command // what runs
	cancel context.CancelFunc
	joined chan struct{} // closed when the goroutine that waits for the command has ended

	mu      sync.Mutex
	output  strings.Builder
	live    io.Writer // gets all that is printed, as it comes; nil for nobody
	done    *ended
	changed chan struct{} // closed, and made anew, at every change
}

// ended is how a command ended.
type ended struct {
	exit int
	err  error
}

// Write takes what the command prints.
func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.output.Write(p)
	t.notify()
	if t.live != nil {
		return t.live.Write(p)
	}
	return len(p), nil
}

// show has live get what is printed from now on; nil for nobody.
func (t *terminal) show(live io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.live = live
}

func (t *terminal) notify() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// start runs a command, for longer than ctx if it takes that; look tells how it goes.
func (t *terminal) start(ctx context.Context, c *Command) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t.busy, t.cancel, t.joined = c, cancel, make(chan struct{})
	t.mu.Lock()
	t.output.Reset()
	t.done, t.changed = nil, make(chan struct{})
	t.mu.Unlock()
	go func(joined chan struct{}) {
		defer close(joined)
		defer cancel()
		exit, err := t.shell.Run(ctx, c.Text, t)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.done = &ended{exit, err}
		t.notify()
	}(t.joined)
}

// look returns what has been printed since the command, or the interrupt; how it ended, or nil while it runs; and what is
// closed when there is more to see.
func (t *terminal) look() (output string, done *ended, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.output.String(), t.done, t.changed
}

func (t *terminal) interrupt() error {
	t.mu.Lock()
	t.output.Reset()
	t.mu.Unlock()
	return t.shell.Interrupt()
}

// over says whether what was started has ended.
func (t *terminal) over() bool {
	select {
	case <-t.joined:
		return true
	default:
		return false
	}
}

// close ends the shell, and what runs in it with it.
func (t *terminal) close() error {
	if t.cancel != nil {
		t.cancel()
		<-t.joined
	}
	return t.shell.Close()
}
