package tui

import (
	"fmt"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/replay"
)

const (
	// frame is how often a recording that plays is shown anew.
	frame = 50 * time.Millisecond
	// jump is how far one key goes.
	jump = 10 * time.Second
	// The slowest and the fastest that a recording plays.
	slowest, fastest = 1.0 / 16, 1024.0
)

// play is a recording that plays.
type play struct {
	player *replay.Player
	state  *fold.State
	speed  float64
	paused bool
	ended  bool
	last   time.Time // when time passed last
}

func newPlay(p *replay.Player, speed float64) *play {
	if !(speed > 0) {
		speed = 1
	}
	return &play{player: p, state: p.Seek(0), speed: min(max(speed, slowest), fastest)}
}

func (p *play) running() bool { return !p.paused && !p.ended }

// pass goes on as far as time has passed.
func (p *play) pass(now time.Time) {
	since := now.Sub(p.last)
	first := p.last.IsZero()
	p.last = now
	if first || !p.running() || since <= 0 {
		return
	}
	p.state, p.ended = p.player.Step(time.Duration(float64(since) * p.speed))
}

// seek goes to an offset.
func (p *play) seek(to time.Duration) {
	to = min(max(0, to), p.player.Len())
	p.state = p.player.Seek(to)
	p.ended = to >= p.player.Len()
}

// String says where it is: "▶ 0:12/1:05 ×4".
func (p *play) String() string {
	glyph := "▶"
	switch {
	case p.ended:
		glyph = "■"
	case p.paused:
		glyph = "‖"
	}
	s := fmt.Sprintf("%s %s/%s", glyph, minutes(p.player.At()), minutes(p.player.Len()))
	if p.speed != 1 {
		s += fmt.Sprintf(" ×%g", p.speed)
	}
	return s
}

func minutes(d time.Duration) string {
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

// playKey gives a key to the recording, and tells whether it is one of its.
func (m *Model) playKey(k tea.KeyPressMsg) bool {
	p := m.play
	if p == nil {
		return false
	}
	switch {
	case key.Matches(k, m.keys.pause):
		if p.ended {
			p.seek(0)
			p.paused = false
			break
		}
		p.paused = !p.paused
	case key.Matches(k, m.keys.rewind):
		p.seek(p.player.At() - jump)
	case key.Matches(k, m.keys.forward):
		p.seek(p.player.At() + jump)
	case key.Matches(k, m.keys.slower):
		p.speed = max(slowest, p.speed/2)
	case key.Matches(k, m.keys.faster):
		p.speed = min(fastest, p.speed*2)
	default:
		return false
	}
	m.state = p.state
	m.tell()
	return true
}
