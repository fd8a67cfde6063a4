package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/replay"
)

// clock is the message that time has passed.
type clock time.Time

// tick sends clock at the next full second, or sooner for a playing recording.
func (m *Model) tick() tea.Cmd {
	every := time.Second
	if m.play != nil && m.play.running() {
		every = frame
	}
	now := m.opts.Now()
	return tea.Tick(now.Truncate(every).Add(every).Sub(now), func(time.Time) tea.Msg { return clock(m.opts.Now()) })
}

// Update handles a message. It does no I/O.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.resize(msg.Width, msg.Height)
	case tea.BackgroundColorMsg:
		if m.opts.Theme == "" {
			m.setTheme(themeOf("", msg.IsDark()))
		}
	case clock:
		m.pass(time.Time(msg))
		return m, tea.Batch(m.tick(), m.askAgain())
	case batch:
		return m, m.take(msg)
	case attached:
		return m, m.attachedTo(msg)
	case answer:
		msg.show(m)
		m.bind()
	case logged:
		return m, m.log(msg)
	case tea.KeyPressMsg:
		return m, m.press(msg)
	case tea.MouseClickMsg:
		return m, m.click(msg.X, msg.Y)
	case tea.MouseWheelMsg:
		m.wheel(msg)
	case tea.PasteMsg:
		return m, m.paste(msg.Content)
	}
	return m, nil
}

// pass advances the state to a time.
func (m *Model) pass(now time.Time) {
	if m.flash.text != "" && !now.Before(m.flash.until) {
		m.flash = flash{}
	}
	if m.play != nil {
		m.play.pass(now)
		m.state = m.play.state
	} else {
		m.state.Tick(now)
	}
	m.report()
	m.bind()
}

// take applies updates of the sandbox.
func (m *Model) take(b batch) tea.Cmd {
	raise(b.cut)
	if len(b.updates) > 0 {
		if m.state.IsCut() != nil {
			m.state.Cut(nil)
		}
		m.state.Apply(b.at, b.updates...)
		m.updatedAt = b.at
	}
	if b.cut == errAnother { //nolint:errorlint // it is never wrapped
		m.say("this is another sandbox of that name, or it was restarted: the old state is gone", true)
		return tea.Batch(m.attach(), m.askKinds())
	}
	if b.cut != nil {
		if m.state.IsCut() == nil && b.cut != errEnded { //nolint:errorlint // it is never wrapped
			m.say("cut off from the sandbox, and trying again: "+reason(b.cut)+"; the screen shows the last known state", true)
		}
		m.state.Cut(b.cut)
	}
	m.report()
	m.bind()
	if b.cut == errEnded { //nolint:errorlint // it is never wrapped
		m.say("the sandbox has ended; q quits", true)
		return nil
	}
	return listen(m.stream, m.opts.Now)
}

// press passes a key to the prompt, the top panel, or the root model.
func (m *Model) press(k tea.KeyPressMsg) tea.Cmd {
	if key.Matches(k, m.keys.force) {
		return m.interrupt()
	}
	m.heard()
	if k.String() == "ctrl+z" {
		return m.suspend()
	}
	if m.leaving {
		return m.leaveKey(k.String())
	}
	if m.layout.small {
		if key.Matches(k, m.keys.quit) {
			return m.do(intent.Quit{})
		}
		return nil
	}
	if m.typing {
		return m.typed(k)
	}
	if k.String() == "f1" { // also where "?" is text
		m.help()
		return nil
	}
	if i, ok := m.top().Handle(k); ok {
		cmd := m.do(i)
		m.bind()
		return cmd
	}
	if m.typesText() {
		return nil // it takes all letters
	}
	cmd := m.do(m.own(k))
	m.bind()
	return cmd
}

// own handles a key of the root model.
func (m *Model) own(k tea.KeyPressMsg) intent.Intent {
	subject, _ := m.subject()
	switch {
	case key.Matches(k, m.keys.help):
		return intent.Help{}
	case key.Matches(k, m.keys.prompt):
		return intent.Prompt{}
	case key.Matches(k, m.keys.filter):
		m.typeFilter()
	case key.Matches(k, m.keys.screens):
		return intent.Go{Screen: intent.Screen(k.String()[0] - '1')}
	case key.Matches(k, m.keys.next):
		return intent.Go{Screen: (m.at + 1) % intent.Screens}
	case key.Matches(k, m.keys.previous):
		return intent.Go{Screen: (m.at + intent.Screens - 1) % intent.Screens}
	case key.Matches(k, m.keys.back):
		return intent.Back{}
	case key.Matches(k, m.keys.quit):
		if len(m.over) > 0 {
			return intent.Back{}
		}
		return intent.Quit{}
	case key.Matches(k, m.keys.readOnly):
		return intent.ReadOnly{}
	case key.Matches(k, m.keys.details):
		return intent.Details{Subject: subject}
	case key.Matches(k, m.keys.why):
		return intent.Why{Subject: subject}
	case key.Matches(k, m.keys.power):
		return intent.Power{Subject: subject}
	case key.Matches(k, m.keys.snapshots):
		return intent.Snapshots{}
	case key.Matches(k, m.keys.breaks):
		return intent.Break{Subject: subject}
	case key.Matches(k, m.keys.focus):
		return intent.Focus{Subject: subject}
	case key.Matches(k, m.keys.logs):
		return intent.Logs{Component: m.component(subject)}
	default:
		if !m.playKey(k) {
			return m.idle(k)
		}
	}
	return nil
}

// idle shows why a key has no effect now, if it has one at other times.
func (m *Model) idle(k tea.KeyPressMsg) intent.Intent {
	is := func(b key.Binding) bool { return slices.Contains(b.Keys(), k.String()) }
	why := ""
	switch {
	case m.helps():
	case m.play != nil && (is(m.keys.details) || is(m.keys.why) || is(m.keys.logs)):
		why = "this is a recording: only a running sandbox answers"
	case m.play != nil && (is(m.keys.power) || is(m.keys.breaks)):
		why = "this is a recording: no faults can be injected"
	case m.play != nil && is(m.keys.readOnly), m.opts.Locked && is(m.keys.readOnly):
		why = "read-only, always"
	case m.readOnly && m.opts.Locked && (is(m.keys.power) || is(m.keys.breaks)):
		why = "read-only: nothing is changed"
	case m.readOnly && (is(m.keys.power) || is(m.keys.breaks)):
		why = "read-only: ctrl+r allows changes"
	case is(m.keys.breaks):
		why = "the faults of the sandbox are not known yet"
	case is(m.keys.power):
		why = "no VM or node is selected"
	case is(m.keys.why):
		why = "no node, VM, volume or Service is selected"
	case is(m.keys.details):
		why = "the selection has no details"
	case is(m.keys.filter):
		why = "nothing to filter here"
	case is(m.keys.logs):
		why = "this sandbox has no logs"
	case is(m.keys.focus) && m.at != intent.Overview:
		why = "the selection is on no other screen"
	}
	if why == "" {
		return nil
	}
	return intent.Say{Text: why, Bad: true}
}

// click passes a click to the panel under it.
func (m *Model) click(x, y int) tea.Cmd {
	if m.layout.small || m.typing || m.leaving {
		return nil
	}
	if y == m.layout.tabs.y && len(m.over) == 0 {
		if s, ok := m.tabAt(x); ok {
			return m.do(intent.Go{Screen: s})
		}
		return nil
	}
	if c, ok := m.top().(panel.Clicker); ok {
		at := m.placeOf()
		if i, taken := c.Click(x-at.x, y-at.y); taken {
			cmd := m.do(i)
			m.bind()
			return cmd
		}
	}
	return nil
}

func (m *Model) wheel(msg tea.MouseWheelMsg) {
	c, ok := m.top().(panel.Clicker)
	if !ok || m.layout.small {
		return
	}
	switch msg.Button {
	case tea.MouseWheelUp:
		c.Wheel(-3)
	case tea.MouseWheelDown:
		c.Wheel(3)
	}
	m.bind()
}

// placeOf returns the position of the top panel.
func (m *Model) placeOf() rect {
	if n := len(m.over); n > 0 && m.over[n-1].box {
		w, h := boxSize(m.over[n-1].panel, m.layout.body.width-4, m.layout.body.height-4)
		b := m.layout.box(w, h)
		return rect{b.x + 1, b.y + 1, b.width - 2, b.height - 2}
	}
	return m.layout.body
}

const (
	// frame is the interval between frames of a playing recording.
	frame = 50 * time.Millisecond
	// jump is the step of a seek key.
	jump = 10 * time.Second
	// The slowest and the fastest that a recording plays.
	slowest, fastest = 1.0 / 16, 1024.0
)

// play is a playing recording.
type play struct {
	player *replay.Player
	state  *fold.State
	speed  float64
	paused bool
	ended  bool
	last   time.Time // the last pass
}

func newPlay(p *replay.Player, speed float64) *play {
	if !(speed > 0) {
		speed = 1
	}
	return &play{player: p, state: p.Seek(0), speed: min(max(speed, slowest), fastest)}
}

func (p *play) running() bool { return !p.paused && !p.ended }

// pass plays the recording up to now.
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

// String returns the position: "▶ 0:12/1:05 ×4".
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

// playKey handles a key for the recording, and reports whether it was one.
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
	m.report()
	return true
}

const (
	// gather is how long updates are gathered for one frame: two frames.
	gather = 33 * time.Millisecond
	// most is the maximum number of updates for one frame.
	most = 4096
	// history is how many earlier events are requested.
	history = 20000
	// again is the pause before a cut stream is reopened.
	again = time.Second
)

// errEnded ends the stream when the sandbox ends.
var errEnded = errors.New("the sandbox has ended")

// errAnother ends the stream when another sandbox answers.
var errAnother = errors.New("another sandbox answers")

// message is an item of the stream.
type message struct {
	update api.Update
	cut    error // the stream has ended; it is reopened unless this is errEnded or errAnother
}

// batch is the updates of one frame.
type batch struct {
	at      time.Time
	updates []api.Update
	cut     error
}

// feed reads the stream of a sandbox until ctx ends. A sandbox waits for a slow reader, and then cuts it off, which only costs
// time: all rows are sent again. began is the start of the sandbox: one that started later numbers its events from the beginning.
func feed(ctx context.Context, s Sandbox, after uint64, began time.Time) <-chan message {
	stream := make(chan message, most)
	send := func(t message) error {
		select {
		case stream <- t:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	go func() {
		defer close(stream)
		defer guard(func(err error) { _ = send(message{cut: err}) })
		watch := func() error {
			return s.Watch(ctx, after, func(u api.Update) error {
				if u.Event != nil {
					after = u.Event.Seq
				}
				return send(message{update: u})
			})
		}
		for {
			err := watch()
			if ctx.Err() != nil {
				return
			}
			if err == nil {
				_ = send(message{cut: errEnded})
				return
			}
			for err != nil { // until the sandbox answers
				if send(message{cut: err}) != nil {
					return
				}
				if backoff.Sleep(ctx, again) != nil {
					return
				}
				var now time.Time
				if now, err = start(ctx, s); err == nil && !now.Equal(began) {
					_ = send(message{cut: errAnother})
					return
				}
			}
		}
	}()
	return stream
}

// start returns when a sandbox was started.
func start(ctx context.Context, s Sandbox) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	status, err := s.Status(ctx)
	return status.StartedAt, err
}

// listen waits for updates, and gathers those that follow at once.
func listen(stream <-chan message, now func() time.Time) tea.Cmd {
	return func() tea.Msg {
		first, ok := <-stream
		if !ok {
			return nil
		}
		b := batch{at: now()}
		if b.add(first); b.cut != nil {
			return b
		}
		enough := time.NewTimer(gather)
		defer enough.Stop()
		for len(b.updates) < most {
			select {
			case t, ok := <-stream:
				if !ok {
					return b
				}
				if b.add(t); b.cut != nil {
					return b
				}
			case <-enough.C:
				return b
			}
		}
		return b
	}
}

func (b *batch) add(t message) {
	if t.cut != nil {
		b.cut = t.cut
		return
	}
	b.updates = append(b.updates, t.update)
}
