package recording

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
)

// ServeHTTP sends the recording, from its oldest segment on, and with follow=true what is added to it. It cuts off a
// reader that is so slow that a segment goes before it was read, and one that follows a recording that cannot be written
// any more. A nil Recorder has not begun to record.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if r == nil {
		control.Reply(w, nil, &api.Error{Code: "unavailable", Message: "the sandbox records nothing yet", Try: "vsphere-sandbox wait --for=ready"})
		return
	}
	follow := req.URL.Query().Get("follow") == "true"
	r.settle(req.Context())
	flush := control.Stream(w)
	reader := r.file.reader()
	defer reader.close()
	more, err := true, reader.copy(w)
	for follow && more && err == nil && flush() == nil {
		if more = reader.wait(req.Context()); !more { // the sandbox ends: what was recorded until now is sent
			ctx, cancel := context.WithTimeout(context.WithoutCancel(req.Context()), time.Second)
			r.settle(ctx)
			cancel()
		}
		err = reader.copy(w)
	}
	if err != nil || follow && !more && req.Context().Err() == nil { // it could not be read, or is no longer written
		panic(http.ErrAbortHandler) // an end that no reader takes for the sandbox's
	}
}

// errCutOff is returned when a part of a recording was replaced before it was read.
var errCutOff = errors.New("the recording has gone on without its reader")

// reader reads a recording while it is written. Make it with [file.reader]; it is for one goroutine.
type reader struct {
	file   *file
	number int // of its segment; 0 before it has one
	f      *os.File
	at     int64
}

func (f *file) reader() *reader { return &reader{file: f} }

func (r *reader) close() {
	if r.f != nil {
		_ = r.f.Close() // only read from
	}
}

// copy writes what there is by now, complete lines, in pieces of a segment each.
func (r *reader) copy(w io.Writer) error {
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
func (r *reader) wait(ctx context.Context) bool {
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

// look returns the size of the reader's segment, and whether it is the last. It opens the first one.
func (r *reader) look() (size int64, last bool, err error) {
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

// next opens the next segment, after what the reader has read already.
func (r *reader) next() error {
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
func (r *reader) open(s segment, at int64) (err error) {
	if r.f, err = os.Open(s.path); err != nil {
		return err
	}
	r.number, r.at = s.number, at
	_, err = r.f.Seek(at, io.SeekStart)
	return err
}
