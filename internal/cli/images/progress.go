package images

import (
	"fmt"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
)

// beat is how often something is said while one thing takes its time.
const beat = 4 * time.Second

// progress prints what is being done: a line for each step when it begins, and its progress every four seconds.
type progress struct {
	streams *iostreams.Streams

	mu    sync.Mutex
	what  string
	far   func() string
	ended bool

	stop chan struct{}
	gone chan struct{}
}

// newProgress begins; end ends it.
func newProgress(s *iostreams.Streams) *progress {
	p := &progress{streams: s, stop: make(chan struct{}), gone: make(chan struct{})}
	go p.repeat()
	return p
}

// end ends the progress. It is idempotent.
func (p *progress) end() {
	p.mu.Lock()
	ended := p.ended
	p.ended = true
	p.mu.Unlock()
	if !ended {
		close(p.stop)
	}
	<-p.gone
}

// now says what is begun.
func (p *progress) now(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what, p.far = what, nil
	fmt.Fprintf(p.streams.Err, "  … %s\n", what)
}

// share reports how much of a whole is done.
func (p *progress) share(done, whole int64) {
	p.show(func() string {
		if whole == 0 {
			return ""
		}
		return fmt.Sprintf(": %d%% of %s", done*100/whole, output.Bytes(whole))
	})
}

// written reports how much has been written.
func (p *progress) written(done int64) { p.show(func() string { return ": " + output.Bytes(done) }) }

func (p *progress) show(far func() string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.far = far
}

func (p *progress) repeat() {
	defer close(p.gone)
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
		p.mu.Lock()
		if p.what != "" && p.far != nil { // otherwise the step prints its own progress
			fmt.Fprintf(p.streams.Err, "  … %s%s\n", p.what, p.far())
		}
		p.mu.Unlock()
	}
}
