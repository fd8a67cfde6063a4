package event

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
)

// DefaultFileSize is the default limit of a [File], for both segments together: about a quarter of a million events.
const DefaultFileSize = 64 << 20

// File is a copy of a [Log] on disk, one JSON object a line, for use after the process has ended. It has two segments of half its
// size each: events.jsonl is written until it is full and then becomes events.1.jsonl, replacing the previous one. So the file is
// bounded, and always has the newest events. Dropped events are reported by the event event-file.rotated, and by the number of
// the first remaining one. Create one with [CreateFile]; it is not safe for concurrent use.
//
// A failed write, as on a full disk, does not end the copy: see [File.Copy].
type File struct {
	path  string
	limit int64 // of a segment
	retry time.Duration
	// openFile is [os.OpenFile], except in tests.
	openFile func(path string, flag int) (segmentFile, error)

	f    segmentFile // nil if the segment could not be opened
	w    *bufio.Writer
	size int64  // of the segment
	last uint64 // Seq of the last written event
	old  uint64 // last event of the older segment; 0 without one

	// What is on disk: whole lines up to an offset, and the Seq of the last one.
	kept     int64
	keptLast uint64
}

// segmentFile is the part of [os.File] that a [File] uses.
type segmentFile interface {
	io.WriteCloser
	io.Seeker
	Truncate(size int64) error
}

// retryPause is the time between two attempts after a failed write.
const retryPause = time.Second

// Line is a line of a [File].
type Line struct {
	Event
	// Lost is the number of events before this one for which the writer was too slow.
	Lost uint64 `json:"lost,omitempty"`
}

// CreateFile creates an empty file, readable only by its owner, and replaces an existing one. size <= 0 means [DefaultFileSize].
func CreateFile(path string, size int64) (*File, error) {
	if size <= 0 {
		size = DefaultFileSize
	}
	if err := os.Remove(older(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f := &File{path: path, limit: max(1, size/2), retry: retryPause, openFile: openFile}
	return f, f.open(os.O_TRUNC)
}

func openFile(path string, flag int) (segmentFile, error) {
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err // a nil *os.File would be a non-nil segmentFile
	}
	return f, nil
}

// older returns the path of the older segment: events.1.jsonl.
func older(path string) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + ".1" + ext
}

// open opens the newest segment at its end, or empties it with [os.O_TRUNC].
func (f *File) open(flag int) (err error) {
	if f.f, err = f.openFile(f.path, os.O_CREATE|os.O_WRONLY|flag); err != nil {
		f.f = nil
		return err
	}
	f.w = bufio.NewWriterSize(f.f, 64<<10)
	if flag&os.O_TRUNC != 0 {
		f.size, f.kept = 0, 0
	}
	return nil
}

// Copy writes the events of a log until ctx ends, and then the remaining ones. It may lag behind the log; if it lags by more than
// the log's capacity, it records that ([Line].Lost).
//
// If a write fails, Copy appends event-file.failed to the log, and retries every second. When a write succeeds again, the file
// continues after its last whole line with the events that the log still has, and Copy appends event-file.resumed with the
// missing events. It returns an error only if the file is closed, or if ctx ends and the last events cannot be written; the file
// then ends with a whole line.
func (f *File) Copy(ctx context.Context, l *Log) error {
	const batch = 1024
	for failing := false; ; {
		events, lost, _ := l.Wait(ctx, f.last, batch)
		ends := ctx.Err() != nil
		if ends {
			events, lost = l.Read(f.last, 0)
		}
		gone, err := f.write(events, lost)
		if gone > 0 {
			l.Append(Event{
				Plane: PlaneSandbox, Kind: "event-file.rotated",
				Message: fmt.Sprintf("events up to %d are no longer in %s, which is full", gone, filepath.Base(f.path)),
			})
		}
		switch {
		case err != nil && (ends || errors.Is(err, os.ErrClosed)):
			return errors.Join(err, f.repair())
		case err != nil:
			if !failing {
				failing = true
				l.Append(Event{
					Plane: PlaneSandbox, Level: Error, Kind: "event-file.failed",
					Message: fmt.Sprintf("events after %d are not in %s, and a write is tried every %s: %v", f.keptLast, filepath.Base(f.path), f.retry, err),
				})
			}
			_ = f.repair() // the next write returns the error again
			_ = backoff.Sleep(ctx, f.retry)
		case failing:
			failing = false
			l.Append(Event{Plane: PlaneSandbox, Kind: "event-file.resumed", Message: f.resumed(events, lost)})
		}
		if ends && l.Last() <= f.last {
			return nil
		}
	}
}

// resumed describes the events that are missing before these.
func (f *File) resumed(events []Event, lost uint64) string {
	text := "events are written to " + filepath.Base(f.path) + " again; "
	if lost == 0 || len(events) == 0 {
		return text + "none is missing"
	}
	first := events[0].Seq
	return text + fmt.Sprintf("events %d to %d are missing", first-lost, first-1)
}

// repair prepares the segment for a retry: it truncates it after its last whole line; the rest is read from the log again.
func (f *File) repair() error {
	f.last = f.keptLast
	if f.f == nil {
		if err := f.open(0); err != nil {
			return err
		}
	}
	if err := f.f.Truncate(f.kept); err != nil {
		return err
	}
	if _, err := f.f.Seek(f.kept, io.SeekStart); err != nil {
		return err
	}
	f.w.Reset(f.f)
	f.size = f.kept
	return nil
}

// write writes events; lost is the number of lost ones before the first. gone is the last event that the files do not have any
// more, or 0.
func (f *File) write(events []Event, lost uint64) (gone uint64, err error) {
	if f.f == nil {
		if err := f.repair(); err != nil {
			return 0, err
		}
	}
	for _, e := range events {
		line, err := json.Marshal(Line{Event: e, Lost: lost})
		if err != nil {
			return gone, err
		}
		line = append(line, '\n')
		if f.size > 0 && f.size+int64(len(line)) > f.limit {
			n, err := f.rotate()
			gone = max(gone, n)
			if err != nil {
				return gone, err
			}
		}
		n, err := f.w.Write(line)
		if f.size += int64(n); err != nil {
			return gone, err
		}
		f.last, lost = e.Seq, 0
	}
	return gone, f.flush()
}

// flush writes the buffer, and records that it is on disk.
func (f *File) flush() error {
	if err := f.w.Flush(); err != nil {
		return err
	}
	f.kept, f.keptLast = f.size, f.last
	return nil
}

// rotate starts a new segment, and returns the last event of the one that it replaces.
func (f *File) rotate() (gone uint64, err error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	err = f.f.Close()
	f.f = nil
	if err != nil {
		return 0, err
	}
	if err := os.Rename(f.path, older(f.path)); err != nil {
		return 0, err
	}
	gone, f.old = f.old, f.last
	f.size, f.kept = 0, 0
	return gone, f.open(os.O_TRUNC)
}

// Close closes the file, which keeps its contents.
func (f *File) Close() error {
	if f.f == nil {
		return nil
	}
	return errors.Join(f.w.Flush(), f.f.Close())
}
