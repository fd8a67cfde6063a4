// Package recording keeps a recording of a sandbox on disk: every row and every event, with its time, so that they can be
// replayed when the sandbox is gone.
//
// Floor 3.
package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/watchcache"
)

const (
	// maxSize is how large a recording becomes, both segments together, unless a segment begins larger than that.
	maxSize = 64 << 20
	// maxEvents is how many events a segment begins with: the causes of later events are mostly among them.
	maxEvents = 4096
	// writeDelay is for how long changes are gathered that are written together.
	writeDelay = 50 * time.Millisecond
	// retryDelay is the time between two attempts to record after a write has failed.
	retryDelay = time.Second
)

// Source is the rows of a sandbox and their changes.
type Source interface {
	Read() ([][]byte, *watchcache.Reader)
}

// Recorder writes all rows and events of a sandbox to a file. It reads them like any other client: it blocks no writer,
// and when it falls too far behind it begins the recording again. Make it with [New], which begins the recording, and
// record with [Recorder.Run].
type Recorder struct {
	file   *file
	head   api.Recording
	cache  Source
	log    *event.Log
	events int // that a segment begins with

	settling chan chan struct{}
	done     chan struct{} // closed when nothing is recorded any more

	// Of the goroutine that records.
	reader *watchcache.Reader
	seq    uint64    // of the event that was written last
	last   time.Time // of the line that was
	line   []byte    // room for one
}

// New begins a recording of source and log at path, which starts with head.
func New(path string, head api.Recording, source Source, log *event.Log) (*Recorder, error) {
	return newRecorder(path, maxSize, maxEvents, head, source, log)
}

func newRecorder(path string, size int64, events int, head api.Recording, cache Source, log *event.Log) (*Recorder, error) {
	file, err := createFile(path, size)
	if err != nil {
		return nil, err
	}
	r := &Recorder{
		file: file, head: head, cache: cache, log: log, events: events,
		settling: make(chan chan struct{}), done: make(chan struct{}),
	}
	all, reader := cache.Read()
	r.reader, r.seq = reader, log.Last()
	if err := r.begin(false, all); err != nil {
		reader.Close()
		return nil, errors.Join(err, file.close())
	}
	return r, nil
}

// Run records until ctx ends, and then what is left. It logs an event when nothing is recorded any more.
func (r *Recorder) Run(ctx context.Context) {
	if err := r.run(ctx); err != nil {
		r.log.Append(event.Event{
			Plane: event.PlaneSandbox, Level: event.Error, Kind: "recording.failed", Message: "what happens is no longer recorded: " + err.Error(),
		})
	}
}

// run records until ctx ends, and then what is left. When a write fails, as on a full disk, it tries to begin the recording
// again every second. It returns early only when the file is closed.
func (r *Recorder) run(ctx context.Context) (err error) {
	defer func() {
		r.reader.Close()
		close(r.done)
		if cerr := r.file.close(); err == nil {
			err = cerr
		}
	}()
	listening, stop := context.WithCancel(ctx)
	seq, happened, heard := r.seq, make(chan struct{}, 1), make(chan struct{})
	go func() { defer close(heard); r.listen(listening, seq, happened) }()
	defer func() { stop(); <-heard }()
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return r.record()
		case <-r.reader.Wake:
		case <-happened:
		case <-due:
			due = nil
			if err := r.recordOrResume(ctx); err != nil {
				return err
			}
			continue
		case settled := <-r.settling:
			err := r.recordOrResume(ctx)
			close(settled)
			if err != nil {
				return err
			}
			continue
		}
		if due == nil {
			due = time.After(writeDelay)
		}
	}
}

func (r *Recorder) recordOrResume(ctx context.Context) error {
	err := r.record()
	if err == nil {
		return nil
	}
	return r.resume(ctx, err)
}

// resume begins the recording again after a write has failed: as soon as a write succeeds, or once more when ctx ends.
func (r *Recorder) resume(ctx context.Context, cause error) error {
	if errors.Is(cause, os.ErrClosed) {
		return cause
	}
	r.log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: event.Error, Kind: "recording.failed",
		Message: fmt.Sprintf("what happens is not recorded, and a write is tried every %s: %v", retryDelay, cause),
	})
	for {
		r.reader.Close()
		r.file.abandon()
		ends := r.pause(ctx)
		err := r.restart("could not be written: " + cause.Error())
		if err == nil || ends {
			return err
		}
	}
}

// pause waits until the next attempt is due; true when ctx has ended. Callers of settle do not wait for it.
func (r *Recorder) pause(ctx context.Context) (ends bool) {
	due := time.NewTimer(retryDelay)
	defer due.Stop()
	for {
		select {
		case <-due.C:
			return false
		case <-ctx.Done():
			return true
		case settled := <-r.settling:
			close(settled)
		}
	}
}

// listen wakes the recorder when there are events after seq, until ctx ends.
func (r *Recorder) listen(ctx context.Context, seq uint64, happened chan<- struct{}) {
	for {
		if _, _, err := r.log.Wait(ctx, seq, 1); err != nil {
			return
		}
		seq = r.log.Last()
		notify.Wake(happened)
	}
}

// settle returns when all changes up to now are in the file, when the recorder has ended, or when ctx ends.
func (r *Recorder) settle(ctx context.Context) {
	settled := make(chan struct{})
	select {
	case r.settling <- settled:
	case <-r.done:
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-settled:
	case <-r.done:
	case <-ctx.Done():
	}
}

// record writes the changes since the last call.
func (r *Recorder) record() error {
	c, fast := r.reader.Take()
	if !fast {
		return r.restart("could not be written as fast as the sandbox has changed")
	}
	if err := r.write(c); err != nil {
		return err
	}
	if !r.file.full() {
		return r.file.flush()
	}
	return r.rotate()
}

// write writes rows, and the events that there are by now, in the order of their times.
func (r *Recorder) write(c watchcache.Changes) error {
	events, lost := r.log.Read(r.seq, 0)
	for i, line := range c.Lines {
		for len(events) > 0 && events[0].Time.Before(c.Times[i]) {
			if err := r.event(events[0], lost); err != nil {
				return err
			}
			events, lost = events[1:], 0
		}
		if err := r.put(c.Times[i], line); err != nil {
			return err
		}
	}
	for _, e := range events {
		if err := r.event(e, lost); err != nil {
			return err
		}
		lost = 0
	}
	return nil
}

func (r *Recorder) event(e event.Event, lost uint64) error {
	r.seq = e.Seq
	return r.update(e.Time, api.Update{Event: &e, Lost: lost})
}

func (r *Recorder) update(at time.Time, u api.Update) error {
	text, err := json.Marshal(u)
	if err != nil {
		return err
	}
	return r.put(at, append(text, '\n'))
}

// put writes an update, as it travels, with its time. Times never decrease: an event that has an earlier time gets the
// time at which it arrived.
func (r *Recorder) put(at time.Time, update []byte) error {
	at = at.Round(0) // what is written has no monotonic clock, and the wall clock may be set back between two lines
	if at.Before(r.last) {
		at = r.last
	}
	r.last = at
	r.line = append(r.line[:0], `{"time":"`...)
	r.line = at.AppendFormat(r.line, time.RFC3339Nano)
	r.line = append(r.line, `",`...)
	r.line = append(r.line, update[1:]...)
	return r.file.write(r.line)
}

// rotate begins the next segment.
func (r *Recorder) rotate() error {
	c, all, fast := r.reader.TakeAll()
	if !fast {
		return r.restart("could not be written as fast as the sandbox has changed")
	}
	if err := r.write(c); err != nil {
		return err
	}
	gone := r.file.whole() > 1
	if err := r.begin(false, all); err != nil {
		return err
	}
	if gone {
		r.note("recording.rotated", event.Info, "is full")
	}
	return nil
}

// restart begins a segment that does not continue the one before, which has the reason why.
func (r *Recorder) restart(why string) error {
	r.reader.Close()
	all, reader := r.cache.Read()
	r.reader, r.seq = reader, r.log.Last()
	if err := r.begin(true, all); err != nil {
		return err
	}
	r.note("recording.restarted", event.Warning, why)
	return nil
}

// note logs that something is not recorded.
func (r *Recorder) note(kind string, level event.Level, why string) {
	r.log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: level, Kind: kind,
		Message: fmt.Sprintf("what is older is no longer in %s, which %s", filepath.Base(r.file.path), why),
	})
}

// begin begins a segment: with what is recorded, all rows there are, and the newest of the events that were written.
func (r *Recorder) begin(alone bool, all [][]byte) error {
	return r.file.begin(alone, func() error {
		r.head.Began = time.Now()
		text, err := json.Marshal(r.head)
		if err != nil {
			return err
		}
		if err := r.file.write(append(text, '\n')); err != nil {
			return err
		}
		for _, line := range all {
			if err := r.put(r.head.Began, line); err != nil {
				return err
			}
		}
		after := r.seq - min(r.seq, uint64(r.events))
		events, _ := r.log.Read(after, int(r.seq-after))
		for _, e := range events {
			if e.Seq > r.seq {
				break // the log has forgotten some of those
			}
			if err := r.update(r.head.Began, api.Update{Event: &e}); err != nil {
				return err
			}
		}
		return r.update(r.head.Began, api.Update{Synced: true})
	})
}
