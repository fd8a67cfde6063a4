package world

import (
	"cmp"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// Events returns all events, or as many as are kept, oldest first. The caller must not change the slice.
func (w *World) Events() []event.Event { return w.events }

// Keep has the world forget all events but the newest n; with n <= 0 it keeps all, as a new world does. Slices that were
// handed out stay as they are.
func (w *World) Keep(n int) {
	w.keep = n
	w.forget()
}

// forget forgets what is too much: the slice moves on, and what is before it goes when the slice has to grow.
func (w *World) forget() {
	if w.keep > 0 && len(w.events) > w.keep {
		w.events = w.events[len(w.events)-w.keep:]
	}
}

// LastEvent is the Seq of the newest event.
func (w *World) LastEvent() uint64 {
	if len(w.events) == 0 {
		return 0
	}
	return w.events[len(w.events)-1].Seq
}

// After are the events with a higher Seq.
func (w *World) After(seq uint64) []event.Event {
	i, _ := slices.BinarySearchFunc(w.events, seq+1, func(e event.Event, seq uint64) int { return cmp.Compare(e.Seq, seq) })
	return w.events[i:]
}

// Event finds one by its Seq.
func (w *World) Event(seq uint64) (event.Event, bool) {
	i, ok := slices.BinarySearchFunc(w.events, seq, func(e event.Event, seq uint64) int { return cmp.Compare(e.Seq, seq) })
	if !ok {
		return event.Event{}, false
	}
	return w.events[i], true
}

// maxChain bounds how far causes are followed.
const maxChain = 100

// Causes are the events that made one happen, the nearest first.
func (w *World) Causes(e event.Event) []event.Event {
	var chain []event.Event
	for e.Cause != 0 && e.Cause < e.Seq && len(chain) < maxChain {
		cause, ok := w.Event(e.Cause)
		if !ok {
			break
		}
		chain, e = append(chain, cause), cause
	}
	return chain
}

// CausedBy reports whether the event of that Seq is among the causes of e, or e itself. It need not have been seen.
func (w *World) CausedBy(e event.Event, seq uint64) bool {
	if e.Seq == seq || e.Cause == seq {
		return true
	}
	return slices.ContainsFunc(w.Causes(e), func(cause event.Event) bool { return cause.Seq == seq || cause.Cause == seq })
}
