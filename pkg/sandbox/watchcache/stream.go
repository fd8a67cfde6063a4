package watchcache

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
)

// Stream returns a handler that sends all rows and events and then their changes, a line each: see [api.Update]. Events
// and rows come in the order of their kind, not of each other.
func (c *Cache) Stream(log *event.Log) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		after, ok := control.After(w, r)
		if !ok {
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		lines, reader := c.Read()
		defer reader.Close()
		after = min(after, log.Last())
		flush := control.Stream(w)

		events, lost := log.Read(after, 0)
		if !writeLines(w, lines) || !writeEvents(w, events, lost) || json.NewEncoder(w).Encode(api.Update{Synced: true}) != nil || flush() != nil {
			cancel()
			return
		}
		if len(events) > 0 {
			after = events[len(events)-1].Seq
		}
		pages := make(chan eventPage)
		done := make(chan struct{})
		go func() { defer close(done); pageEvents(ctx, log, after, pages) }()
		defer func() { cancel(); <-done }()
		for ok := true; ok && flush() == nil; {
			select {
			case <-ctx.Done():
				return
			case p := <-pages:
				ok = writeEvents(w, p.events, p.lost)
			case <-reader.Wake:
				changes, fast := reader.Take()
				if !fast {
					panic(http.ErrAbortHandler) // an end that no reader takes for the sandbox's
				}
				ok = writeLines(w, changes.Lines)
			}
		}
	}
}

// eventPage is some events, and how many before them were lost.
type eventPage struct {
	events []event.Event
	lost   uint64
}

// pageEvents sends the events after a Seq until ctx ends.
func pageEvents(ctx context.Context, log *event.Log, after uint64, pages chan<- eventPage) {
	for {
		events, lost, err := log.Wait(ctx, after, 1024)
		if err != nil {
			return
		}
		select {
		case pages <- eventPage{events, lost}:
			after = events[len(events)-1].Seq
		case <-ctx.Done():
			return
		}
	}
}

func writeEvents(w http.ResponseWriter, events []event.Event, lost uint64) bool {
	enc := json.NewEncoder(w)
	for _, e := range events {
		if enc.Encode(api.Update{Event: &e, Lost: lost}) != nil {
			return false
		}
		lost = 0
	}
	return true
}

func writeLines(w http.ResponseWriter, lines [][]byte) bool {
	for _, l := range lines {
		if _, err := w.Write(l); err != nil {
			return false
		}
	}
	return true
}
