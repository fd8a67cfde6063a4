package shell

import (
	"bytes"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// space is what is free in a file system of limited size. It is safe for concurrent use.
type space struct {
	usage func() (device string, total, used int64, err error)

	mu       sync.Mutex
	free     int64
	measured time.Time
}

// spaceAge is how long a measured use holds: others may write to the volume, too.
const spaceAge = time.Second

// take reserves n bytes, and returns how many of them there are.
func (s *space) take(n int64) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free < n || time.Since(s.measured) > spaceAge {
		_, total, used, err := s.usage()
		if err != nil {
			return 0, err
		}
		s.free, s.measured = max(0, total-used), time.Now()
	}
	n = min(n, s.free)
	s.free -= n
	return n, nil
}

// file is an open file whose size is bounded. It has no other way to write than Write: io.WriteString and io.Copy would take one.
type file struct {
	file   *os.File
	fs     *FS
	space  *space // nil: fileBytes is the bound
	append bool
}

// Write implements io.Writer. Where only a part fits, it writes that.
func (w *file) Write(b []byte) (int, error) {
	info, err := w.file.Stat()
	if err != nil {
		return 0, err
	}
	end := info.Size()
	at := end
	if !w.append {
		if at, err = w.file.Seek(0, io.SeekCurrent); err != nil {
			return 0, err
		}
	}
	var full error
	switch grows := at + int64(len(b)) - end; {
	case w.space == nil && at+int64(len(b)) > fileBytes:
		return 0, syscall.EFBIG
	case w.space != nil && grows > 0:
		fits, err := w.space.take(grows)
		if err != nil {
			return 0, err
		}
		if fits < grows {
			b, full = b[:max(0, int64(len(b))-(grows-fits))], syscall.ENOSPC
		}
	}
	n, err := w.put(b, at, end)
	if err == nil {
		err = full
	}
	return n, err
}

// put writes b at an offset of a file that ends at end.
func (w *file) put(b []byte, at, end int64) (int, error) {
	if at >= end && len(b) >= holeBytes && !w.append && zeros(b) {
		if err := w.file.Truncate(at + int64(len(b))); err != nil {
			return 0, err
		}
		_, err := w.file.Seek(int64(len(b)), io.SeekCurrent)
		return len(b), err
	}
	if w.fs.written.Add(int64(len(b))) > writtenBytes {
		return 0, syscall.EDQUOT
	}
	return w.file.Write(b)
}

// holeBytes is the least that becomes a hole.
const holeBytes = 4096

// zeros reports whether all bytes are 0.
func zeros(b []byte) bool { return b[0] == 0 && bytes.Equal(b[1:], b[:len(b)-1]) }

// Read implements io.Reader.
func (w *file) Read(b []byte) (int, error) { return w.file.Read(b) }

// Seek implements io.Seeker.
func (w *file) Seek(offset int64, from int) (int64, error) { return w.file.Seek(offset, from) }

// Close implements io.Closer.
func (w *file) Close() error { return w.file.Close() }
