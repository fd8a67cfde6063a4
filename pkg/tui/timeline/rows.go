package timeline

import (
	"slices"
	"sort"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

// entry is a row of the timeline: an event, a burst of calls, or a gap.
type entry struct {
	at time.Time
	// seq is that of the event; of a burst and a gap, that of the row before it, so that rows are in order of it.
	seq uint64
	// burst is set when it is one; lost is how many events are missing, when it is a gap.
	burst *burst
	lost  uint64
}

func (e entry) isEvent() bool { return e.burst == nil && e.lost == 0 }

// window is the part of some rows that is seen, and which of them has the cursor.
type window struct{ cursor, top, height int }

// move moves the cursor by so many of n rows.
func (w *window) move(by, n int) { w.set(w.cursor+by, n) }

// set puts the cursor on a row of n, and scrolls so that it is seen.
func (w *window) set(i, n int) {
	w.cursor = max(0, min(i, n-1))
	w.show(n)
}

func (w *window) show(n int) {
	height := max(1, w.height)
	w.top = min(w.top, w.cursor)
	w.top = max(w.top, w.cursor-height+1)
	w.top = max(0, min(w.top, n-height))
}

// list is the rows that are shown.
type list struct {
	window
	rows   []entry
	bursts int // how many rows are bursts
}

// add puts an event or a gap at the end.
func (l *list) add(e entry) { l.insert(len(l.rows), e) }

// addBurst puts calls in their place, before what happened later. Such as there are already since the last event are
// added to: between two events a client has one row of each vCenter, or two when some fail.
func (l *list) addBurst(b *fold.Burst) {
	i := len(l.rows)
	for i > 0 && l.rows[i-1].at.After(b.At) {
		i--
	}
	for j := i - 1; j >= 0 && l.rows[j].burst != nil; j-- {
		if l.rows[j].burst.same(b) {
			l.rows[j].burst.add(b)
			return
		}
	}
	l.bursts++
	l.insert(i, entry{at: b.At, burst: newBurst(b)})
}

// insert makes a row. The cursor stays on its own.
func (l *list) insert(i int, e entry) {
	if !e.isEvent() {
		if e.seq = 0; i > 0 {
			e.seq = l.rows[i-1].seq
		}
	}
	if i < len(l.rows) && i <= l.cursor {
		l.cursor++
		l.top++
	}
	l.rows = slices.Insert(l.rows, i, e)
}

// drop takes the first rows away for as long as they are gone.
func (l *list) drop(gone func(entry) bool) {
	n := 0
	for n < len(l.rows) && gone(l.rows[n]) {
		if l.rows[n].burst != nil {
			l.bursts--
		}
		n++
	}
	l.rows = l.rows[n:]
	l.cursor = max(0, l.cursor-n)
	l.top = max(0, l.top-n)
}

// find is the row of the event, or the first after it.
func (l *list) find(seq uint64) int {
	i := sort.Search(len(l.rows), func(i int) bool { return l.rows[i].seq >= seq })
	for j := i; j < len(l.rows) && l.rows[j].seq == seq; j++ {
		if l.rows[j].isEvent() {
			return j
		}
	}
	return i
}

// selected is the row with the cursor.
func (l *list) selected() (entry, bool) {
	if l.cursor < 0 || l.cursor >= len(l.rows) {
		return entry{}, false
	}
	return l.rows[l.cursor], true
}
