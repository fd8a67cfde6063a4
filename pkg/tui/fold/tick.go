package fold

import (
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// Tick sets the time. An earlier time is ignored.
func (s *State) Tick(now time.Time) {
	if !now.After(s.now) {
		return
	}
	before := s.now
	s.now = now
	for _, kind := range s.changes.expire(now) {
		s.touch(kind)
	}
	if s.calls.expire(now) {
		s.touch(Calls)
	}
	s.findings.settle(now)
	s.examine()
	s.count(before)
}

// count updates what is counted in seconds.
func (s *State) count(before time.Time) {
	ticked := false
	for id, until := range s.running {
		if seconds(until.Sub(before)) != seconds(until.Sub(s.now)) {
			ticked = true
		}
		if !until.After(s.now) {
			delete(s.running, id)
		}
	}
	if ticked {
		s.touch(world.Lease)
	}
	if r := s.run; r != nil && r.State == "running" && seconds(before.Sub(r.Began)) != seconds(s.now.Sub(r.Began)) {
		s.touch(Run)
	}
}

// seconds rounds d up to whole seconds: the rest of a lease is 1 s until it ends.
func seconds(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }

// NextTick returns the time until something changes without an update: a mark fades, a rate falls, a countdown decreases. Zero
// means never. [State.Tick] then makes the change.
func (s *State) NextTick() time.Duration {
	next := time.Duration(0)
	sooner := func(d time.Duration) {
		if d = max(d, time.Millisecond); next == 0 || d < next {
			next = d
		}
	}
	for _, at := range []time.Time{s.changes.next(), s.calls.next(), s.findings.next} {
		if !at.IsZero() {
			sooner(at.Sub(s.now))
		}
	}
	for _, until := range s.running {
		sooner(toSecond(until.Sub(s.now)))
	}
	if s.run != nil && s.run.State == "running" {
		sooner(toSecond(s.run.Began.Sub(s.now)))
	}
	return next
}

// toSecond returns the time until d, negative for the past, is a whole number of seconds.
func toSecond(left time.Duration) time.Duration {
	if d := left % time.Second; d > 0 {
		return d
	} else if d < 0 {
		return d + time.Second
	}
	return time.Second
}

// leased keeps the leases with a countdown.
func (s *State) leased(row world.Row, there bool) {
	delete(s.running, row.Key)
	if l, ok := row.Value.(api.Lease); ok && there && l.Until != nil && l.Ended == nil && l.Until.After(s.now) {
		s.running[row.Key] = *l.Until
	}
}
