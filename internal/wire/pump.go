package wire

import (
	"errors"
	"io"
	"net"
	"sync"

	"golang.org/x/sys/unix"
)

// chunkSize is how much is moved at a time: two records of TLS.
const chunkSize = 32 << 10

// chunks are buffers: a connection holds one only while it has something to move, and most are idle.
var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// pump moves bytes from one end to the other until one of them ends. At the end of from it closes to for writing and
// keeps the other direction; a broken connection is reset. Muted, it reads and forgets.
func pump(c *conn, from, to *net.TCPConn) {
	for {
		chunk, n, err := read(from)
		muted := c.muted.Load()
		if n > 0 && !muted {
			_, werr := to.Write(chunk[:n])
			chunks.Put(chunk)
			err = errors.Join(err, werr)
			muted = c.muted.Load() // which makes writes fail
		} else if chunk != nil {
			chunks.Put(chunk)
		}
		switch {
		case err == nil || muted && n > 0:
		case muted: // the other end hears nothing of it
			return
		case err == io.EOF: //nolint:errorlint // read's own
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
