package vcenterconfig

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
)

// beat is after how long it is said what is being waited for, and how often.
const beat = 3 * time.Second

// Progress says what is being waited for, where that takes long: a vCenter may need half a minute for an answer. On a
// terminal it is one line that changes. Make one with [NewProgress]; it may be used from any goroutine.
type Progress struct {
	w   io.Writer
	tty bool

	mu     sync.Mutex
	step   string
	since  time.Time
	shown  bool // a changing line stands
	closed bool

	done  chan struct{}
	ended sync.WaitGroup
}

// NewProgress returns one that writes to w, which is a terminal or is not. [Progress.Close] ends it.
func NewProgress(w io.Writer, tty bool) *Progress {
	p := &Progress{w: w, tty: tty, done: make(chan struct{})}
	p.ended.Go(func() {
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
	})
	return p
}

// Step says what is waited for from now on.
func (p *Progress) Step(step string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.step, p.since = step, time.Now()
}

func (p *Progress) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := time.Since(p.since)
	if p.closed || p.step == "" || took < beat {
		return
	}
	p.clear()
	text := fmt.Sprintf("  … %s (%.0fs)", printable.Line(p.step), took.Seconds())
	if !p.tty {
		fmt.Fprintln(p.w, text)
		return
	}
	line := []rune(text)
	fmt.Fprint(p.w, string(line[:min(len(line), 78)]))
	p.shown = true
}

// clear takes the changing line away. The lock is held.
func (p *Progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}

// Close ends it and takes its line away; it may be called more than once.
func (p *Progress) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		p.clear()
		close(p.done)
	}
	p.mu.Unlock()
	p.ended.Wait()
}
