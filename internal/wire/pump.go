package wire

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// chunkSize is how much is moved at a time: two records of TLS.
const chunkSize = 32 << 10

// chunks are buffers: a connection holds one only while it has something to move, and most are idle.
//
//nolint:gochecknoglobals // a pool of equal buffers, with no state of its own
var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// pump moves bytes from one end to the other until one of them ends. At the end of from it closes to for writing and
// keeps the other direction; a broken connection is reset. Muted, it reads and forgets.
func pump(c *conn, from, to *net.TCPConn) {
	queue := lag{c: c, to: to}
	defer queue.end()
	for {
		chunk, n, err := read(from)
		muted := c.muted.Load()
		if n > 0 && !muted {
			err = errors.Join(err, queue.send(chunk, n))
			muted = c.muted.Load() // which makes writes fail
		} else if chunk != nil {
			chunks.Put(chunk)
		}
		switch {
		case err == nil || muted && n > 0:
		case muted: // the other end hears nothing of it
			return
		case err == io.EOF: //nolint:errorlint // read's own
			queue.end()
			_ = to.CloseWrite()
			return
		default:
			c.reset()
			return
		}
	}
}

// read waits for bytes, and takes a buffer when they are there. The buffer belongs to the caller then.
func read(s *net.TCPConn) (chunk *[chunkSize]byte, n int, err error) {
	raw, err := s.SyscallConn()
	if err != nil {
		return nil, 0, err
	}
	var rerr error
	err = raw.Read(func(fd uintptr) bool {
		chunk = chunks.Get().(*[chunkSize]byte)
		for {
			n, rerr = unix.Read(int(fd), chunk[:])
			if !errors.Is(rerr, unix.EINTR) {
				break
			}
		}
		if !errors.Is(rerr, unix.EAGAIN) {
			return true
		}
		chunks.Put(chunk)
		chunk = nil
		return false
	})
	if err == nil {
		err = rerr
	}
	if err != nil {
		return chunk, 0, err
	}
	if n == 0 {
		err = io.EOF
	}
	return chunk, n, err
}

// lag is the far half of a direction: it writes at once, or, from the first delay on, from a queue.
type lag struct {
	c     *conn
	to    *net.TCPConn
	queue chan late
	done  chan struct{} // the queue's writer has ended
	last  time.Time     // when the newest chunk is due
}

// late is a chunk on its way.
type late struct {
	chunk *[chunkSize]byte
	n     int
	due   time.Time
}

// inFlight is how many chunks are on the way at most: a window of 2 MiB.
const inFlight = 64

// send takes the chunk over.
func (l *lag) send(chunk *[chunkSize]byte, n int) error {
	delay := time.Duration(l.c.wire.delay.Load())
	if l.queue == nil {
		if delay == 0 {
			_, err := l.to.Write(chunk[:n])
			chunks.Put(chunk)
			return err
		}
		l.queue, l.done = make(chan late, inFlight), make(chan struct{})
		go l.write()
	}
	l.last = later(l.last, time.Now().Add(delay))
	select {
	case l.queue <- late{chunk, n, l.last}:
		return nil
	case <-l.done: // it could not write
		chunks.Put(chunk)
		return net.ErrClosed
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// write is a goroutine that ends with the queue, with a failed write, or with the connection's reset.
func (l *lag) write() {
	defer close(l.done)
	for late := range l.queue {
		select {
		case <-time.After(time.Until(late.due)):
		case <-l.c.ctx.Done():
			return
		}
		if l.c.muted.Load() {
			return
		}
		_, err := l.to.Write(late.chunk[:late.n])
		chunks.Put(late.chunk)
		if err != nil {
			if !l.c.muted.Load() {
				l.c.reset()
			}
			return
		}
	}
}

// end waits until what is in the queue has been written.
func (l *lag) end() {
	if l.queue != nil {
		close(l.queue)
		<-l.done
		l.queue = nil
	}
}
