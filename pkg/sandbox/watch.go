package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// streamUpdates sends all that the sandbox tells of itself, a line each: see [api.Update]. Events and rows come in the
// order of their kind, not of each other.
func (s *Sandbox) streamUpdates(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.ParseUint(r.URL.Query().Get("after"), 10, 64)
	if err != nil {
		reply(w, nil, &api.Error{Code: "invalid", Message: fmt.Sprintf("after: %v", err)})
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	lines, reader := s.rows.read()
	defer s.rows.close(reader)
	after = min(after, s.log.Last())
	w.Header().Set("Content-Type", "application/jsonl")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w).Flush

	events, lost := s.log.Read(after, 0)
	if !writeLines(w, lines) || !writeEvents(w, events, lost) || json.NewEncoder(w).Encode(api.Update{Synced: true}) != nil || flush() != nil {
		cancel()
		return
	}
	if len(events) > 0 {
		after = events[len(events)-1].Seq
	}
	pages := make(chan eventPage)
	done := make(chan struct{})
	go func() { defer close(done); s.pageEvents(ctx, after, pages) }()
	defer func() { cancel(); <-done }()
	for ok := true; ok && flush() == nil; {
		select {
		case <-ctx.Done():
			return
		case p := <-pages:
			ok = writeEvents(w, p.events, p.lost)
		case <-reader.wake:
			lines, fast := s.rows.take(reader)
			if !fast {
				panic(http.ErrAbortHandler) // an end that no reader takes for the sandbox's
			}
			ok = writeLines(w, lines)
		}
	}
}

// eventPage is some events, and how many before them were lost.
type eventPage struct {
	events []event.Event
	lost   uint64
}

// pageEvents sends the events after a Seq until ctx ends.
func (s *Sandbox) pageEvents(ctx context.Context, after uint64, pages chan<- eventPage) {
	for {
		events, lost, err := s.log.Wait(ctx, after, 1024)
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
