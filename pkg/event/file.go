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
)

// DefaultFileSize is how large a [File] becomes, both segments together: the newest quarter of a million events, or so.
const DefaultFileSize = 64 << 20

// File is a copy of a [Log] on disk, a JSON object a line, for whoever looks when the process is gone. It has two
// segments of half its size each: events.jsonl is written to until it is full and then becomes events.1.jsonl, in the
// place of the one that was. So it never grows beyond its size, and has the newest events always. Events that are in it
// no longer are said to be gone by an event of their own, event-file.rotated, and by the number of the first that is
// left. Make one with [CreateFile]; it is not for several goroutines.
type File struct {
	path  string
	limit int64 // of a segment

	f    *os.File
	w    *bufio.Writer
	size int64  // of the segment
	last uint64 // Seq of what was written last
	old  uint64 // last event of the older segment; 0 when there is none
}

// Line is a line of a [File].
type Line struct {
	Event
	// Lost is how many events before this one the writer was too slow for.
	Lost uint64 `json:"lost,omitempty"`
}

// CreateFile makes an empty file for its owner's eyes only, in the place of one that is there. size <= 0 means
// [DefaultFileSize].
func CreateFile(path string, size int64) (*File, error) {
	if size <= 0 {
		size = DefaultFileSize
	}
	if err := os.Remove(older(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f := &File{path: path, limit: max(1, size/2)}
	return f, f.open()
}

// older is the path of the older segment: events.1.jsonl.
func older(path string) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + ".1" + ext
}

// Segments are the files of a [File] that there are, oldest first.
func Segments(path string) []string {
	var list []string
	for _, p := range []string{older(path), path} {
		if _, err := os.Stat(p); err == nil {
			list = append(list, p)
		}
	}
	return list
}

func (f *File) open() (err error) {
	if f.f, err = os.OpenFile(f.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600); err != nil {
		return err
	}
	f.w, f.size = bufio.NewWriterSize(f.f, 64<<10), 0
	return nil
}

// Copy writes the events of a log until ctx ends, and then what is left. It returns early only when it cannot write. It
// may lag behind the log by an instant, and when it lags further than the log remembers, says so ([Line].Lost).
func (f *File) Copy(ctx context.Context, l *Log) error {
	const batch = 1024
	for {
		events, lost, err := l.Wait(ctx, f.last, batch)
		if err != nil {
			events, lost = l.Read(f.last, 0) // the last words
		}
		gone, werr := f.write(events, lost)
		if werr != nil {
			return werr
		}
		if gone > 0 {
			l.Append(Event{
				Plane: PlaneSandbox, Kind: "event-file.rotated",
				Message: fmt.Sprintf("events up to %d are no longer in %s, which is full", gone, filepath.Base(f.path)),
			})
		}
		if err != nil {
			return nil
		}
	}
}

// write writes events, before the first of which so many were lost. gone is the last event that is no longer in the
// files, 0 when all are still there.
func (f *File) write(events []Event, lost uint64) (gone uint64, err error) {
	for _, e := range events {
		line, err := json.Marshal(Line{Event: e, Lost: lost})
		if err != nil {
			return gone, err
		}
		line = append(line, '\n')
		if f.size > 0 && f.size+int64(len(line)) > f.limit {
			if n, err := f.rotate(); err != nil {
				return gone, err
			} else if n > 0 {
				gone = n
			}
		}
		n, err := f.w.Write(line)
		if f.size += int64(n); err != nil {
			return gone, err
		}
		f.last, lost = e.Seq, 0
	}
	return gone, f.w.Flush()
}

// rotate begins a new segment, and returns the last event of the one that it takes the place of.
func (f *File) rotate() (gone uint64, err error) {
	if err := f.Close(); err != nil {
		return 0, err
	}
	if err := os.Rename(f.path, older(f.path)); err != nil {
		return 0, err
	}
	gone, f.old = f.old, f.last
	return gone, f.open()
}

// Close closes the file. What was copied is in it.
func (f *File) Close() error { return errors.Join(f.w.Flush(), f.f.Close()) }

// ReadSegments reads the lines of a [File] that nobody writes to any more, oldest first. A last line that was cut short,
// as by a kill, is left out.
func ReadSegments(path string, each func(Line) error) error {
	for _, segment := range Segments(path) {
		if err := readSegment(segment, each); err != nil {
			return err
		}
	}
	return nil
}

func readSegment(path string, each func(Line) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 64<<10)
	for number := 1; ; number++ {
		text, err := r.ReadBytes('\n')
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var line Line
		if err := json.Unmarshal(text, &line); err != nil {
			return fmt.Errorf("%s:%d: %w", path, number, err)
		}
		if err := each(line); err != nil {
			return err
		}
	}
}
