package replay

import (
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

// Player is where a recording is being played. Make it with [Open] or [Read]. It is for one goroutine, and so are the
// states that it returns.
type Player struct {
	about fold.About
	note  string
	lines []api.Recorded
	begin time.Time // what times are counted from: when all there was had been told
	state *fold.State
	next  int // the first of the lines that are not in the state
	at    time.Duration
}

// About is what was recorded.
func (p *Player) About() fold.About { return p.about }

// Note says what is to be known of the recording besides: that its last line is cut off. It is mostly "".
func (p *Player) Note() string { return p.note }

// Len is how long the recording is.
func (p *Player) Len() time.Duration {
	if len(p.lines) == 0 {
		return 0
	}
	return max(0, p.lines[len(p.lines)-1].Time.Sub(p.begin))
}

// At is where it is: from 0, where all is known that there was when the recording began, to [Player.Len].
func (p *Player) At() time.Duration { return p.at }

// Clock is the time at which that was.
func (p *Player) Clock() time.Time { return p.begin.Add(p.at) }

// State is the state at [Player.At].
func (p *Player) State() *fold.State { return p.state }

// Next is how long it is until the recording tells something; ok is false when it does not any more.
func (p *Player) Next() (d time.Duration, ok bool) {
	if p.next == len(p.lines) {
		return 0, false
	}
	return max(0, p.lines[p.next].Time.Sub(p.Clock())), true
}

// Seek goes to a time of the recording, or to the end that is nearer. Forwards it is the same state that goes on; backwards
// it is another one, whose versions go on from those of the one before.
func (p *Player) Seek(d time.Duration) *fold.State {
	if d = min(max(d, 0), p.Len()); d < p.at {
		p.state, p.next = p.state.Anew(), 0
	}
	p.play(d)
	return p.state
}

// Step goes on by so much of the recorded time, and tells whether that was the end. It never goes back: the state is the
// same.
func (p *Player) Step(d time.Duration) (s *fold.State, ended bool) {
	p.play(p.at + min(max(0, d), p.Len()-p.at))
	return p.state, p.at == p.Len()
}

// play has everything told up to a time that is not before the one that it is.
func (p *Player) play(to time.Duration) {
	p.at = to
	until := p.Clock()
	for ; p.next < len(p.lines) && !p.lines[p.next].Time.After(until); p.next++ {
		p.state.Apply(p.lines[p.next].Time, p.lines[p.next].Update)
	}
	p.state.Tick(until)
}

// ordered puts lines in the order of their times, and says when the beginning is over.
func (p *Player) ordered() {
	byTime := func(a, b api.Recorded) int { return a.Time.Compare(b.Time) }
	if !slices.IsSortedFunc(p.lines, byTime) {
		slices.SortStableFunc(p.lines, byTime)
	}
	p.begin = p.about.Began
	if len(p.lines) > 0 {
		p.begin = p.lines[0].Time
	}
	if i := slices.IndexFunc(p.lines, func(line api.Recorded) bool { return line.Synced }); i >= 0 {
		p.begin = p.lines[i].Time
	}
	p.state = fold.New(p.about, 0)
}
