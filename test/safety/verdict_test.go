package safety

import (
	"fmt"
	"time"
)

// when are the times of a row.
type when struct{ struck, healed time.Time }

// expectation is what a row has to do with one Node.
type expectation struct {
	state state
	// broken means that it is at the broken vCenter; then come its responses, and tags.
	broken        bool
	answer, zones answer
}

// verdict is one cell of the matrix.
type verdict struct {
	text string
	ok   bool
	// detail is for those who have to find out.
	detail string
	// pending means that it may become good with time.
	pending bool
}

func (v verdict) String() string {
	if v.ok {
		return v.text + " ✓"
	}
	return v.text + " ✗"
}

func good(format string, args ...any) verdict {
	return verdict{text: fmt.Sprintf(format, args...), ok: true}
}
func bad(format string, args ...any) verdict { return verdict{text: fmt.Sprintf(format, args...)} }

// judge says whether that was to become of the Node.
func judge(e expectation, f fate, w when) verdict {
	switch {
	case !f.deleted.IsZero() && e.state != gone:
		return bad("LOST %s", w.report(f.deleted))
	case !f.tainted.IsZero() && (e.state == healthy || e.state == notReady || e.state == joining):
		return bad("tainted %s though the VM is on", w.report(f.tainted))
	case !f.changed.IsZero() && (e.state == healthy || e.state == notReady):
		return verdict{text: "changed " + w.report(f.changed), detail: f.change}
	}
	switch e.state {
	case off:
		return e.inTime("tainted", f.tainted, w, f.taintedNow)
	case gone:
		if e.answer == no && f.deleted.Before(w.healed) && !f.deleted.IsZero() {
			return bad("deleted %s, unconfirmed", w.report(f.deleted))
		}
		return e.inTime("deleted", f.deleted, w, true)
	case joining:
		return e.inTime("joined", f.initialized, w, true)
	}
	return good("kept")
}

// late reports whether what must happen to the Node may wait until the fault is over.
func (e expectation) late() bool {
	switch e.state {
	case off:
		return e.broken && e.answer != yes
	case gone:
		return e.answer != yes
	case joining:
		return e.broken && e.zones != yes
	}
	return false
}

// inTime judges what has to happen: during the fault, or after it where that is allowed, and for good.
func (e expectation) inTime(what string, at time.Time, w when, stays bool) verdict {
	switch {
	case at.IsZero():
		return verdict{text: "never " + what, pending: true}
	case !stays:
		return bad("%s %s, not any more", what, w.report(at))
	case at.After(w.healed) && !e.late():
		return bad("%s only %s", what, w.report(at))
	}
	return good("%s %s", what, w.report(at))
}

// report words a time: "+1.2s" into the fault, or "heal+0.4s".
func (w when) report(at time.Time) string {
	if at.After(w.healed) {
		return fmt.Sprintf("heal+%.1fs", at.Sub(w.healed).Seconds())
	}
	return fmt.Sprintf("+%.1fs", at.Sub(w.struck).Seconds())
}
