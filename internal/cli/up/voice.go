package up

import (
	"io"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
)

// voice is a writer for several goroutines that falls silent at the first error: when nobody listens any more the
// sandbox goes on.
type voice struct {
	mu  sync.Mutex
	w   io.Writer
	err error // the first
}

// Write implements [io.Writer].
func (v *voice) Write(b []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err != nil {
		return 0, v.err
	}
	n, err := v.w.Write(b)
	v.err = err
	return n, err
}

// voiced returns d with an error stream that is a voice.
func voiced(d *command.Deps) *command.Deps {
	deps, streams := *d, *d.Streams
	streams.Err = &voice{w: d.Streams.Err}
	deps.Streams = &streams
	return &deps
}
