package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
)

// errCutOff says that a part of a recording has gone before it was read.
var errCutOff = errors.New("the recording has gone on without its reader")

// recordingReader reads a recording while it is written. Make it with [recordingFile.reader]; it is for one goroutine.
type recordingReader struct {
	file   *recordingFile
	number int // of its segment; 0 before it has one
	f      *os.File
	at     int64
}

func (f *recordingFile) reader() *recordingReader { return &recordingReader{file: f} }

func (r *recordingReader) close() {
	if r.f != nil {
		_ = r.f.Close() // only read from
	}
}

// copy writes what there is by now, complete lines, in pieces of a segment each.
func (r *recordingReader) copy(w io.Writer) error {
	for {
		size, last, err := r.look()
		if err != nil {
			return err
		}
		if n := size - r.at; n > 0 {
			n, err := io.CopyN(w, r.f, n)
			if r.at += n; err != nil {
				return err
			}
		}
		if last {
			return nil
		}
		if err := r.next(); err != nil {
			return err
		}
	}
}

// wait waits until there may be more; false when there will be none, or ctx has ended.
func (r *recordingReader) wait(ctx context.Context) bool {
	r.file.mu.Lock()
	grown, ended := r.file.grown, r.file.ended
	newest := r.file.segments[len(r.file.segments)-1]
	more := newest.number != r.number || newest.size > r.at
	r.file.mu.Unlock()
	if more || ended {
		return more
	}
	select {
	case <-grown:
		return true
	case <-ctx.Done():
		return false
	}
}

// look tells how much of the reader's segment there is, and whether it is the last. It opens the first one.
func (r *recordingReader) look() (size int64, last bool, err error) {
	r.file.mu.Lock()
	defer r.file.mu.Unlock()
	if r.number == 0 {
		if err := r.open(r.file.segments[0], 0); err != nil {
			return 0, false, err
		}
	}
	for i, s := range r.file.segments {
		if s.number == r.number {
			return s.size, i == len(r.file.segments)-1, nil
		}
	}
	info, err := r.f.Stat() // it is gone, but for this reader, and grows no more
	if err != nil {
		return 0, false, err
	}
	return info.Size(), false, nil
}

// next goes on to the segment after the reader's: to what is new in it.
func (r *recordingReader) next() error {
	r.file.mu.Lock()
	defer r.file.mu.Unlock()
	for _, s := range r.file.segments {
		if s.number == r.number+1 && !s.alone {
			r.close()
			return r.open(s, s.began)
		}
	}
	return errCutOff
}

// open begins to read a segment. The caller holds the lock.
func (r *recordingReader) open(s segment, at int64) (err error) {
	if r.f, err = os.Open(s.path); err != nil {
		return err
	}
	r.number, r.at = s.number, at
	_, err = r.f.Seek(at, io.SeekStart)
	return err
}
