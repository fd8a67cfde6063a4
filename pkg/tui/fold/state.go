package fold

import (
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/world"
)

// About is what a state is of: what a recording says of itself, or the status of a sandbox.
type About = api.Recording

// State is all that the UI knows. Make it with [New]. It is for one goroutine.
type State struct {
	about    About
	world    *world.World
	now      time.Time
	total    uint64
	versions map[world.Kind]uint64

	changes changes
	calls   calls
	run     *api.Run
	cut     error
}

// Kinds of what is told that is no row of the world.
const (
	Calls world.Kind = "calls"
	Run   world.Kind = "run"
)

// New returns the state of a sandbox of which nothing is known yet. keep is how many events it remembers; <= 0 is as many
// as a sandbox does.
func New(about About, keep int) *State {
	return &State{about: about, world: newWorld(keep), versions: map[world.Kind]uint64{}, changes: newChanges(), calls: newCalls()}
}

// About is what the state is of.
func (s *State) About() About { return s.about }

// World is the rows and events. It is not to be changed.
func (s *State) World() *world.World { return s.world }

// Now is the time of the state: that of the newest update, or a later one that [State.Tick] told.
func (s *State) Now() time.Time { return s.now }

// Run is the scenario that runs or ran last; nil for none.
func (s *State) Run() *api.Run { return s.run }

// Version grows whenever something of one of the kinds changes; with none, whenever anything does.
func (s *State) Version(kinds ...world.Kind) (v uint64) {
	if len(kinds) == 0 {
		return s.total
	}
	for _, k := range kinds {
		v += s.versions[k]
	}
	return v
}

// Tick says that it is now so late.
func (s *State) Tick(now time.Time) {
	if now.After(s.now) {
		s.now = now
	}
}

// Apply takes in what was told at a time.
func (s *State) Apply(at time.Time, updates ...api.Update) {
	s.Tick(at)
	for _, u := range updates {
		s.apply(at, u)
	}
}

func (s *State) apply(at time.Time, u api.Update) {
	switch {
	case u.Calls != nil:
		s.calls.apply(at, *u.Calls)
		s.touch(Calls)
	case u.Run != nil:
		s.run = u.Run
		s.touch(Run)
	default:
		row, isRow := world.RowOf(u)
		if isRow && s.world.Synced() {
			s.changes.note(at, s.world, row, u.Deleted)
		}
		for _, kind := range s.world.Apply(u) {
			s.touch(kind)
		}
	}
}

func (s *State) touch(k world.Kind) {
	s.total++
	s.versions[k]++
}

// Cut says that the stream was cut off, and why; the next update takes it up again. While it is cut off, the state is
// what was told last.
func (s *State) Cut(err error) {
	s.cut = err
	s.total++
	if err != nil {
		s.world.Again()
	}
}

// IsCut is why the state is not current, nil when it is.
func (s *State) IsCut() error { return s.cut }
