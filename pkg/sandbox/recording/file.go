package recording

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// file is a recording on disk. As an [event.File] it has two segments of half its size each: recording.jsonl is
// written to until it is full and then becomes recording.1.jsonl, in the place of the one that was. Unlike there,
// each segment can be read alone: it begins with all rows. So the lines of the older one, and those of the newer
// one after its beginning, are one recording.
//
// One goroutine writes, any number read. Make one with [createFile].
type file struct {
	path  string
	limit int64 // of a segment

	// openFile is [os.OpenFile] but in tests.
	openFile func(path string, flag int) (io.WriteCloser, error)

	// Used only by the goroutine that writes.
	f    io.WriteCloser // nil when no segment is open
	w    *bufio.Writer
	size int64 // of the segment

	mu       sync.Mutex
	segments []segment     // those that there are, oldest first: one or two
	grown    chan struct{} // closed and replaced whenever there is more to be read
	ended    bool
}

// segment is a part of a recording that can be read alone.
type segment struct {
	number int // from 1
	path   string
	// began is where its first lines end, which say what there is; size is what of it can be read.
	began, size int64
	// alone: something is missing between the one before and this one.
	alone bool
}

// createFile makes one without a segment, in the place of one that is there.
func createFile(path string, size int64) (*file, error) {
	f := &file{path: path, limit: max(1, size/2), grown: make(chan struct{}), openFile: func(path string, flag int) (io.WriteCloser, error) {
		return os.OpenFile(path, flag, 0o600)
	}}
	for _, p := range []string{f.older(), f.unfinished()} {
		if err := remove(p); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *file) older() string {
	ext := filepath.Ext(f.path)
	return strings.TrimSuffix(f.path, ext) + ".1" + ext
}

// unfinished is where a segment is until its first lines are there.
func (f *file) unfinished() string { return f.path + ".new" }

// begin begins a segment with the lines that first writes. Alone says that something is missing before it: the segments
// that there are go.
func (f *file) begin(alone bool, first func() error) error {
	if err := f.closeSegment(); err != nil {
		return err
	}
	file, err := f.openFile(f.unfinished(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC)
	if err != nil {
		return err
	}
	f.f, f.w, f.size = file, bufio.NewWriterSize(file, 64<<10), 0
	if err = first(); err == nil {
		err = f.w.Flush()
	}
	if err == nil {
		err = f.replace(segment{path: f.path, began: f.size, size: f.size, alone: alone})
	}
	if err != nil {
		f.f = nil // it is no segment
		return errors.Join(err, file.Close(), remove(f.unfinished()))
	}
	return nil
}

// remove removes a file, if it is there.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// replace makes next the newest segment, in one step: a reader always finds a segment at its path.
func (f *file) replace(next segment) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	next.number = 1
	if n := len(f.segments); n > 0 {
		last := f.segments[n-1]
		next.number = last.number + 1
		if next.alone {
			if err := remove(f.older()); err != nil {
				return err
			}
			f.segments = []segment{last} // until it is replaced
		} else if err := os.Rename(f.path, f.older()); err != nil {
			return err
		} else {
			last.path = f.older()
			f.segments = []segment{last}
		}
	}
	if err := os.Rename(f.unfinished(), f.path); err != nil {
		return err
	}
	if next.alone {
		f.segments = nil
	}
	f.segments = append(f.segments, next)
	f.report()
	return nil
}

// write appends a line.
func (f *file) write(line []byte) error {
	n, err := f.w.Write(line)
	f.size += int64(n)
	return err
}

// flush lets readers have what was written.
func (f *file) flush() error {
	if err := f.w.Flush(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if last := &f.segments[len(f.segments)-1]; last.size != f.size {
		last.size = f.size
		f.report()
	}
	return nil
}

// report wakes readers. The caller holds the lock.
func (f *file) report() {
	close(f.grown)
	f.grown = make(chan struct{})
}

// full reports whether the newest segment is too large. A segment that was large when it began may still grow by an eighth.
func (f *file) full() bool {
	return f.size >= f.limit && f.size-f.newest().began >= f.limit/8
}

func (f *file) newest() segment {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.segments[len(f.segments)-1]
}

// whole returns how many segments, the newest included, have nothing missing between them.
func (f *file) whole() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.segments)
}

// close ends it. What was written stays.
func (f *file) close() error {
	err := f.closeSegment()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.report()
	return err
}

// abandon closes the newest segment after a write has failed, and cuts it back to the last line that readers can have. The
// next one to be begun stands alone.
func (f *file) abandon() {
	if f.f == nil {
		return
	}
	// The failed write is the error that counts, and what could not be cut off is a last line that readers leave out.
	_ = f.f.Close()
	f.f = nil
	newest := f.newest()
	_ = os.Truncate(newest.path, newest.size)
}

func (f *file) closeSegment() error {
	if f.f == nil {
		return nil
	}
	err := f.flush()
	if cerr := f.f.Close(); err == nil {
		err = cerr
	}
	f.f = nil
	return err
}
