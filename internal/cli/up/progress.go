package up

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
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
