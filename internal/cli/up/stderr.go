package up

import (
	"bytes"
	"io"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
)

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
