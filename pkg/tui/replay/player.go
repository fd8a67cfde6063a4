package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

// Player plays a recording. Make it with [Open] or [Read]. It and the states that it returns are for one goroutine.
type Player struct {
	about fold.About
	note  string
	lines []api.Recorded
	begin time.Time // the origin of times: the first sync
	state *fold.State
	next  int // the first of the lines that are not in the state
	at    time.Duration
}

// About identifies the recorded sandbox.
func (p *Player) About() fold.About { return p.about }

// Note is a remark on the recording: that its last line is cut off. Mostly "".
func (p *Player) Note() string { return p.note }

// Len returns the length of the recording.
func (p *Player) Len() time.Duration {
	if len(p.lines) == 0 {
		return 0
	}
	return max(0, p.lines[len(p.lines)-1].Time.Sub(p.begin))
}

// At returns the position: from 0, after the initial rows, to [Player.Len].
func (p *Player) At() time.Duration { return p.at }

// Clock returns the recorded time at the position.
func (p *Player) Clock() time.Time { return p.begin.Add(p.at) }

// State returns the state at [Player.At].
func (p *Player) State() *fold.State { return p.state }

// Next returns the time until the next update; ok is false at the end.
func (p *Player) Next() (d time.Duration, ok bool) {
	if p.next == len(p.lines) {
		return 0, false
	}
	return max(0, p.lines[p.next].Time.Sub(p.Clock())), true
}

// Seek goes to a time of the recording, or to the nearer end. Forwards it is the same state; backwards it is another one, with
// versions that continue from those of the old one.
func (p *Player) Seek(d time.Duration) *fold.State {
	if d = min(max(d, 0), p.Len()); d < p.at {
		p.state, p.next = p.state.Fresh(), 0
	}
	p.play(d)
	return p.state
}

// Step plays so much of the recorded time, and reports whether that was the end. The state stays the same one.
func (p *Player) Step(d time.Duration) (s *fold.State, ended bool) {
	p.play(p.at + min(max(0, d), p.Len()-p.at))
	return p.state, p.at == p.Len()
}

// play applies the updates up to a time, which is not before the current one.
func (p *Player) play(to time.Duration) {
	p.at = to
	until := p.Clock()
	for ; p.next < len(p.lines) && !p.lines[p.next].Time.After(until); p.next++ {
		p.state.Apply(p.lines[p.next].Time, p.lines[p.next].Update)
	}
	p.state.Tick(until)
}

// ordered sorts lines by time, and returns the end of the initial rows.
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

// MaxBytes is the maximum size of a recording, which is held in memory.
const MaxBytes = 256 << 20

// Open reads a recording from a file. Errors have the file and, if known, the line. It drops an incomplete last line, as in a
// file that was copied during the recording, and [Player.Note] reports that.
func Open(path string) (*Player, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > MaxBytes { // before it has been read that far
		return nil, tooLarge(path, MaxBytes)
	}
	return Read(path, f)
}

// Read reads a recording to its end; name is for errors. See [Open].
func Read(name string, r io.Reader) (*Player, error) { return read(name, r, MaxBytes) }

func read(name string, r io.Reader, limit int64) (*Player, error) {
	p := &Player{}
	in := &input{r: r, left: limit}
	err := api.ReadRecording(in, func(about api.Recording) error {
		p.about = about
		return nil
	}, func(line api.Recorded) error {
		if n := len(p.lines); line.Time.IsZero() && n > 0 { // it does not say: then with the one before
			line.Time = p.lines[n-1].Time
		}
		p.lines = append(p.lines, line)
		return nil
	})
	if err != nil && !in.cutOff(len(p.lines)) {
		if errors.Is(err, errTooLarge) {
			return nil, tooLarge(name, limit)
		}
		return nil, &readError{name, err}
	}
	if err != nil {
		p.note = fmt.Sprintf("%s: line %d, the last, is cut off, and left out", name, in.lines+1)
	}
	p.ordered()
	return p, nil
}

// readError adds file:line to an error about a line.
type readError struct {
	name string
	err  error
}

func (e *readError) Error() string {
	if rest, ok := strings.CutPrefix(e.err.Error(), "line "); ok {
		return e.name + ":" + rest
	}
	return e.name + ": " + e.err.Error()
}

func (e *readError) Unwrap() error { return e.err }

func tooLarge(name string, limit int64) error {
	return fmt.Errorf("%s: %w: it is more than %d MiB; record a shorter time", name, errTooLarge, limit>>20)
}

var errTooLarge = errors.New("too large to be played")

// input counts lines, to know the last one, and limits the size.
type input struct {
	r     io.Reader
	left  int64
	lines int  // that have an end
	open  bool // after the last end there was something more
	ended bool
}

func (in *input) Read(b []byte) (int, error) {
	if in.left < 0 {
		return 0, errTooLarge
	}
	if int64(len(b)) > in.left+1 {
		b = b[:in.left+1]
	}
	n, err := in.r.Read(b)
	in.left -= int64(n)
	if in.lines += bytes.Count(b[:n], []byte{'\n'}); n > 0 {
		in.open = b[n-1] != '\n'
	}
	in.ended = err == io.EOF
	if in.left < 0 {
		return n, errTooLarge
	}
	return n, err
}

// cutOff reports whether the line after so many good ones is the last, and incomplete.
func (in *input) cutOff(good int) bool {
	if good == 0 && in.lines == 0 {
		return false // not even the head
	}
	for b := make([]byte, 32<<10); !in.ended; {
		if _, err := in.Read(b); err != nil && !errors.Is(err, io.EOF) {
			return false
		}
	}
	return in.open && in.lines == 1+good
}
