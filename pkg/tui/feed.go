package tui

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

const (
	// gather is how long updates are gathered before they are shown together: two frames.
	gather = 33 * time.Millisecond
	// most is how many updates are taken in before a frame is made of them.
	most = 4096
	// history is how many events of before the UI was opened are asked for.
	history = 20000
	// again is how long it takes before a stream that was cut off is taken up again.
	again = time.Second
)

// errEnded is why the stream ended when the sandbox did.
var errEnded = errors.New("the sandbox has ended")

// errAnother is why the stream ended when another sandbox answers than the one it was of.
var errAnother = errors.New("another sandbox answers")

// told is something of the stream.
type told struct {
	update api.Update
	cut    error // the stream has ended; it is taken up again unless it is errEnded or errAnother
}

// batch is some updates that are shown together.
type batch struct {
	at      time.Time
	updates []api.Update
	cut     error
}

// feed reads the stream of a sandbox until ctx ends. A reader that is slow makes the sandbox wait, and then be cut off,
// which costs nothing but time: what there is, is told anew. began is when the sandbox was started: one that was started
// later counts its events from the beginning.
func feed(ctx context.Context, s Sandbox, after uint64, began time.Time) <-chan told {
	stream := make(chan told, most)
	send := func(t told) error {
		select {
		case stream <- t:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	go func() {
		defer close(stream)
		defer guard(func(err error) { _ = send(told{cut: err}) })
		watch := func() error {
			return s.Watch(ctx, after, func(u api.Update) error {
				if u.Event != nil {
					after = u.Event.Seq
				}
				return send(told{update: u})
			})
		}
		for {
			err := watch()
			if ctx.Err() != nil {
				return
			}
			if err == nil {
				_ = send(told{cut: errEnded})
				return
			}
			for err != nil { // until one answers
				if send(told{cut: err}) != nil {
					return
				}
				if backoff.Sleep(ctx, again) != nil {
					return
				}
				var now time.Time
				if now, err = start(ctx, s); err == nil && !now.Equal(began) {
					_ = send(told{cut: errAnother})
					return
				}
			}
		}
	}()
	return stream
}

// start is when a sandbox was started.
func start(ctx context.Context, s Sandbox) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	status, err := s.Status(ctx)
	return status.StartedAt, err
}

// listen waits for updates, and gathers those that come at once.
func listen(stream <-chan told, now func() time.Time) tea.Cmd {
	return func() tea.Msg {
		first, ok := <-stream
		if !ok {
			return nil
		}
		b := batch{at: now()}
		if b.add(first); b.cut != nil {
			return b
		}
		enough := time.NewTimer(gather)
		defer enough.Stop()
		for len(b.updates) < most {
			select {
			case t, ok := <-stream:
				if !ok {
					return b
				}
				if b.add(t); b.cut != nil {
					return b
				}
			case <-enough.C:
				return b
			}
		}
		return b
	}
}

func (b *batch) add(t told) {
	if t.cut != nil {
		b.cut = t.cut
		return
	}
	b.updates = append(b.updates, t.update)
}
