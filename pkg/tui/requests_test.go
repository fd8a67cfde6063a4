package tui

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

// answering is a sandbox whose answers differ each time.
type answering struct {
	*fake
	n   atomic.Int64
	err atomic.Pointer[error]
}

func (a *answering) asked() int { return int(a.n.Load()) }

func (a *answering) Inspect(context.Context, api.Subject) (api.Inspection, error) {
	var err error
	if p := a.err.Load(); p != nil {
		err = *p
	}
	return api.Inspection{Parts: []api.Part{{Title: "Node", YAML: fmt.Sprintf("answer: %d\n", a.n.Add(1))}}}, err
}

// answered waits for the answer to what is asked about on top.
func (d *driver) answered() {
	d.t.Helper()
	d.until(func() bool { n := len(d.over); return n == 0 || d.over[n-1].asked == nil || !d.over[n-1].asked.under })
}

// TestDetailsAge: open details are read again after a change, show their age, and stay when they cannot be read any more.
func TestDetailsAge(t *testing.T) {
	now := tuitest.Story()[0].Time.Add(calm)
	var shared atomic.Pointer[time.Time] // the clock is read beside the test
	began := now
	shared.Store(&began)
	a := &answering{fake: &fake{upTo: calm, more: make(chan api.Update)}}
	d := drive(t, a.fake, func(o *Options) {
		o.Sandbox = a
		o.Now = func() time.Time { return *shared.Load() }
	})
	pass := func() {
		later := now.Add(askEvery)
		now = later
		shared.Store(&later)
		_, cmd := d.Update(clock(now))
		d.run(cmd)
		d.answered()
	}
	node := func(ready string) {
		d.state.Apply(now, api.Update{Node: &api.Node{Name: "worker-west-1", Registered: true, Ready: ready}})
	}
	d.choose(worker())
	d.press("y")
	d.shows("answer: 1")
	d.shows("as of " + now.Format("15:04:05"))

	for range 5 { // marks of changes fade
		pass()
	}
	still := a.asked()
	pass()
	if a.asked() != still {
		t.Fatalf("it was read again without a change")
	}
	node("False")
	pass()
	d.shows(fmt.Sprintf("answer: %d", still+1))

	gone := errors.New("no such node")
	a.err.Store(&gone)
	node("Unknown")
	pass()
	d.shows("old: no such node")
	d.shows(fmt.Sprintf("answer: %d", still+1))

	before := a.asked()
	d.press("y") // asks again, and opens no other
	d.answered()
	if a.asked() != before+1 || len(d.over) != 1 {
		t.Errorf("asked %d times, %d panels", a.asked()-before, len(d.over))
	}
	d.press("esc")
	node("True")
	before = a.asked()
	if pass(); a.asked() != before {
		t.Error("a closed panel is read")
	}
}
