package inventory

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/tagged"
)

// due waits for the next read and returns its reason and the time until it.
func due(t *testing.T, p *schedule, followed, failed bool) (reason, time.Duration) {
	t.Helper()
	began := time.Now()
	why, err := p.idle(t.Context(), followed, failed)
	if err != nil {
		t.Fatal(err)
	}
	return why, time.Since(began)
}

func TestPaceOfTimer(t *testing.T) {
	for _, tc := range []struct {
		name             string
		refresh          time.Duration
		followed, failed bool
		want             time.Duration
	}{
		{"events followed", 0, true, false, 5 * time.Minute},
		{"alone", 0, false, false, time.Minute},
		{"failed", 0, true, true, 5 * time.Second},
		{"configured", 20 * time.Second, true, false, 20 * time.Second},
		{"configured and failed", 20 * time.Second, false, true, 5 * time.Second},
		{"configured short and failed", time.Second, false, true, time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newSchedule(Config{TagRefresh: tc.refresh, TagMissInterval: time.Second / 2})
				p.begin()
				p.end(byTimer, false, false)
				if why, after := due(t, &p, tc.followed, tc.failed); why != byTimer || after != tc.want {
					t.Errorf("reason %d after %s, want %s", why, after, tc.want)
				}
			})
		})
	}
}

// An event triggers a read after the least interval, at once if that has passed, and once for several events.
func TestPaceOfEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newSchedule(Config{TagMissInterval: time.Second / 2})
		p.event()
		p.event()
		if why, after := due(t, &p, true, false); why != byEvent || after != time.Second/2 {
			t.Errorf("reason %d after %s", why, after)
		}
		p.event() // before the read begins: it is part of it
		p.begin()
		p.end(byEvent, true, true)
		time.AfterFunc(3*time.Second, p.event)
		if why, after := due(t, &p, true, false); why != byEvent || after != 3*time.Second {
			t.Errorf("reason %d after %s", why, after)
		}
		p.begin()
		p.event() // during the read
		p.end(byEvent, true, false)
		if why, after := due(t, &p, true, false); why != byEvent || after != time.Second/2 {
			t.Errorf("reason %d after %s", why, after)
		}
	})
}

// Events without any change slow down the reads; the first change ends that.
func TestPaceOfOtherPeoplesEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newSchedule(Config{TagMissInterval: time.Second / 2})
		var waits []time.Duration
		for range 10 {
			p.event()
			_, after := due(t, &p, true, false)
			p.begin()
			p.end(byEvent, false, false)
			waits = append(waits, after)
		}
		if waits[3] != time.Second/2 || waits[9] != slowInterval {
			t.Errorf("waits %v", waits)
		}
		p.event()
		due(t, &p, true, false)
		p.begin()
		p.end(byEvent, true, false)
		p.event()
		if _, after := due(t, &p, true, false); after != time.Second/2 {
			t.Errorf("after a change %s", after)
		}
	})
}

// The change of an event may be readable a little later: it is searched for, and does not count as a change without an event.
func TestPaceOfEarlyEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newSchedule(Config{TagMissInterval: time.Second / 2})
		p.event()
		due(t, &p, true, false)
		p.begin()
		p.end(byEvent, false, false)
		if why, after := due(t, &p, true, false); why != byTimer || after != time.Minute {
			t.Errorf("reason %d after %s", why, after)
		}
		p.begin()
		if doubtful := p.end(byTimer, true, true); doubtful || !p.trusted() {
			t.Error("no more trust in events")
		}
		if why, after := due(t, &p, true, false); why != byTimer || after != 5*time.Minute {
			t.Errorf("reason %d after %s", why, after)
		}
	})
}

// Misses trigger reads at once if events do not report tags, otherwise rarely.
func TestPaceOfMisses(t *testing.T) {
	for followed, want := range map[bool]int{false: 40, true: 2} {
		synctest.Test(t, func(t *testing.T) {
			p := newSchedule(Config{TagMissInterval: time.Second / 2})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second-time.Millisecond)
			defer cancel()
			var asking sync.WaitGroup
			defer asking.Wait()
			asking.Go(func() {
				for ctx.Err() == nil {
					p.miss(followed)
					time.Sleep(10 * time.Millisecond)
				}
			})
			readings := 0
			for {
				p.begin()
				if _, err := p.idle(ctx, followed, false); errors.Is(err, context.DeadlineExceeded) {
					break
				}
				readings++
			}
			if readings < want-2 || readings > want {
				t.Errorf("followed %v: %d readings in 20 s, want %d", followed, readings, want)
			}
		})
	}
}

// Tags that were attached without an event end the trust in events until the next event.
func TestPaceOfTrust(t *testing.T) {
	p := newSchedule(Config{})
	p.begin()
	if p.end(byTimer, true, false) || !p.trusted() {
		t.Error("tags that went are no reason for doubt: nothing tells of those that were deleted")
	}
	p.event()
	p.begin()
	if p.end(byTimer, true, true) || !p.trusted() {
		t.Error("an event came before the reading")
	}
	p.begin()
	p.event()
	if p.end(byTimer, true, true) || !p.trusted() {
		t.Error("an event came while it was read")
	}
	p.begin() // that event may belong to the change in this read
	if p.end(byTimer, true, true) || !p.trusted() {
		t.Error("an event came since the last reading began")
	}
	p.begin()
	if !p.end(byTimer, true, true) || p.trusted() {
		t.Error("no event came")
	}
	if p.end(byTimer, true, true) {
		t.Error("the end of trust is told twice")
	}
	p.event()
	if !p.trusted() {
		t.Error("no trust after an event")
	}
}

func TestAttachedMore(t *testing.T) {
	before := attachedTo("Datacenter:a=x", "Datacenter:b=y")
	for _, tc := range []struct {
		name string
		now  tagged.Objects
		want bool
	}{
		{"nothing new", attachedTo("Datacenter:a=x", "Datacenter:b=y"), false},
		{"less", attachedTo("Datacenter:a=x"), false},
		{"elsewhere too", attachedTo("Datacenter:a=x", "Datacenter:b=y", "Folder:c=x"), true},
		{"another on the same", attachedTo("Datacenter:a=x", "Datacenter:a=y"), true},
		{"renamed", attachedTo("Datacenter:a=new", "Datacenter:b=y"), false},
	} {
		old, now := &tagState{zone: before}, &tagState{zone: tc.now}
		if got := now.attachedMore(old); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}
