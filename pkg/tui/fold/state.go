package fold

import (
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// About identifies the sandbox of a state: from a recording's header, or the status of a sandbox.
type About = api.Recording

// State is the UI's model of a sandbox. Make it with [New]. It is for one goroutine.
type State struct {
	about    About
	keep     int
	world    *world.World
	now      time.Time
	total    uint64
	versions map[world.Kind]uint64

	changes  *changes
	calls    *calls
	findings *findings
	running  map[string]time.Time // when leases with a duration end
	run      *api.Run
	cut      error
	again    bool // the rows are being sent again
}

// Kinds of changes other than those of rows.
const (
	Calls world.Kind = "calls"
	Run   world.Kind = "run"
	// Findings is the kind of [State.Findings]. A finding also counts as a change of its subject's kind.
	Findings world.Kind = "findings"
)

// KeepEvents is the default number of events that a state keeps.
const KeepEvents = 65536

// New returns an empty state. keep is the number of events to keep; <= 0 is [KeepEvents].
func New(about About, keep int) *State {
	if keep <= 0 {
		keep = KeepEvents
	}
	speed := pace.Speed(about.Speed)
	if speed.Validate() != nil {
		speed = 1 // the longest periods, so that nothing becomes a finding too early
	}
	w := world.New()
	w.Keep(keep)
	return &State{
		about: about, keep: keep, world: w, versions: map[world.Kind]uint64{}, running: map[string]time.Time{},
		changes: newChanges(), calls: newCalls(), findings: newFindings(w, speed),
	}
}

// About returns the sandbox of the state.
func (s *State) About() About { return s.about }

// World returns the rows and events. Do not change it.
func (s *State) World() *world.World { return s.world }

// Now returns the time of the state: that of the newest update or [State.Tick].
func (s *State) Now() time.Time { return s.now }

// Run returns the current or last scenario; nil for none.
func (s *State) Run() *api.Run { return s.run }

// Version grows with every change of one of the kinds; without kinds, with every change. Passing time counts if it changes
// something: a mark fades, a rate falls, a countdown decreases.
func (s *State) Version(kinds ...world.Kind) (v uint64) {
	if len(kinds) == 0 {
		return s.total
	}
	for _, k := range kinds {
		v += s.versions[k]
	}
	return v
}

// Apply applies updates of a time.
func (s *State) Apply(at time.Time, updates ...api.Update) {
	s.Tick(at)
	if s.cut != nil && len(updates) > 0 {
		s.cut = nil
		s.total++
	}
	for _, u := range updates {
		s.apply(u)
	}
	s.examine()
}

func (s *State) apply(u api.Update) {
	switch {
	case u.Calls != nil:
		s.calls.apply(s.now, *u.Calls, u.Deleted, s.world.Synced() && !s.again)
		s.touch(Calls)
	case u.Run != nil:
		s.run = u.Run
		s.touch(Run)
	case u.Synced:
		s.synced(u)
	default:
		s.row(u)
	}
}

// row applies a row or an event.
func (s *State) row(u api.Update) {
	row, isRow := world.RowOf(u)
	var was world.Row
	var there bool
	if isRow {
		was, there = s.world.Row(row.Kind, row.Key)
	}
	for _, kind := range s.world.Apply(u) {
		s.touch(kind)
	}
	if isRow && (there || !u.Deleted) {
		s.changed(was, row, there, !u.Deleted)
	}
}

// changed follows the change of a row; the old or the new one may be missing.
func (s *State) changed(was, is world.Row, before, after bool) {
	if s.world.Synced() {
		s.changes.note(s.now, was, is, before, after)
	}
	if before {
		s.findings.changed(was)
	}
	if after {
		s.findings.changed(is)
	}
	if is.Kind == world.Lease {
		s.leased(is, after)
	}
}

// synced removes the rows that were not sent again since the cut: they are gone.
func (s *State) synced(u api.Update) {
	lists := map[world.Kind][]world.Row{}
	if s.again {
		for _, kind := range world.Kinds() {
			lists[kind] = s.world.Rows(kind)
		}
	}
	for _, kind := range s.world.Apply(u) {
		s.touch(kind)
	}
	for kind, rows := range lists {
		for _, row := range rows {
			if _, there := s.world.Row(kind, row.Key); !there {
				s.changed(row, row, true, false)
			}
		}
	}
	s.again = false
	s.total++
}

func (s *State) touch(k world.Kind) {
	s.total++
	s.versions[k]++
}

// Cut records that the stream was cut, and why. The next update (or nil) reopens it: from then on all rows arrive again, up to an
// update that is Synced. Until then the state keeps the last rows.
func (s *State) Cut(err error) {
	s.cut = err
	s.total++
	if err != nil {
		s.again = true
		s.world.Again()
	}
}

// IsCut returns why the state is not current, or nil.
func (s *State) IsCut() error { return s.cut }

// Fresh returns an empty state of the same sandbox, for a recording that starts again. Its versions continue from those of s, so
// that no panel takes it for the old one.
func (s *State) Fresh() *State { return s.Of(s.about) }

// Of is [State.Fresh] for another sandbox, which has replaced that of s.
func (s *State) Of(about About) *State {
	fresh := New(about, s.keep)
	fresh.total = s.total + 1
	for kind, v := range s.versions {
		fresh.versions[kind] = v + 1
	}
	return fresh
}

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
