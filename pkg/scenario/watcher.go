package scenario

import (
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
)

// watcher looks for one expectation. All of it but changed is guarded by the session's lock.
type watcher struct {
	tracker expect.Tracker
	sighting
	looked bool
	// changed has a value when there is something new to be asked for.
	changed chan struct{}
}

// sighting is what a watcher has found.
type sighting struct {
	// Met tells whether it is so now, Since when it became so, or ceased to be.
	Met   bool
	Since time.Time
	// Event is the one that decided it.
	Event uint64
	// Ever tells whether it has been so at any time, First when it was for the first time, Then what there was.
	Ever       bool
	First      time.Time
	FirstEvent uint64
	Then       []string
}

func (w *watcher) look(v *expect.View) {
	f := w.tracker.Look(v)
	if !w.looked || f.Met != w.Met {
		w.looked, w.Met, w.Since, w.Event = true, f.Met, time.Now(), f.Event
	}
	if f.Met && !w.Ever {
		w.Ever, w.First, w.FirstEvent, w.Then = true, w.Since, f.Event, w.tracker.Was(v)
	}
	notify.Wake(w.changed)
}
