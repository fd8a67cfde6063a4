package tui

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// reborn is a sandbox that ends after an event with a large number, and restarts.
type reborn struct {
	fake
	again atomic.Bool
	after atomic.Uint64 // what the second was asked for
}

func (r *reborn) Status(ctx context.Context) (api.Status, error) {
	s, err := r.fake.Status(ctx)
	if r.again.Load() {
		s.Topology, s.StartedAt = "single", time.Unix(1000, 0)
	}
	return s, err
}

func (r *reborn) Watch(ctx context.Context, after uint64, send func(api.Update) error) error {
	if r.again.Load() {
		r.after.Store(after)
		return r.fake.Watch(ctx, after, send)
	}
	for _, u := range []api.Update{{Event: &event.Event{Seq: 9000, Kind: "sandbox.ready"}}, {Synced: true}} {
		if err := send(u); err != nil {
			return err
		}
	}
	r.again.Store(true)
	return errFake
}

// TestAnotherSandbox: a restarted sandbox numbers its events from the beginning: none of them counts as known.
func TestAnotherSandbox(t *testing.T) {
	r := &reborn{fake: fake{upTo: calm}}
	d := drive(t, &fake{}, func(o *Options) { o.Sandbox = r })
	d.shows("zones-us-eu")
	d.until(func() bool { return d.state.World().Synced() && d.state.About().Topology == "single" })
	d.shows("default · single")
	d.shows("6/6")
	if last := d.state.World().LastEvent(); last == 0 || last >= 9000 || r.after.Load() != 0 {
		t.Errorf("the last event is %d, after %d", last, r.after.Load())
	}
	d.press("2")
	d.shows("worker-west-1")
}
