package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/calls"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/faults"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/overview"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/prompt"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/replay"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/services"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/timeline"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/volumes"
)

// Model is the root model of bubbletea. Make it with [NewModel].
type Model struct {
	opts Options
	// ctx ends with the UI, and with it all requests.
	ctx    context.Context
	stream <-chan message // of a sandbox
	play   *play          // of a recording

	state *fold.State
	theme *theme.Theme
	keys  keymap

	width, height int
	layout        layout

	screens [intent.Screens]panel.Panel
	filters [intent.Screens]string
	at      intent.Screen
	over    []overlay // the last is on top
	line    *prompt.Model
	typing  bool // the prompt is open

	kinds     []api.FaultKind
	readOnly  bool
	flash     flash
	under     int             // actions under way
	doing     map[string]bool // by command line
	leaving   bool
	outcome   Outcome
	phaseAt   phaseAt
	updatedAt time.Time // when the last update arrived
	counted   counted
}

// faults is the screen of faults.
func (m *Model) faults() *faults.Screen { return m.screens[intent.Faults].(*faults.Screen) }

// overlay is a panel on top of a screen.
type overlay struct {
	panel panel.Panel
	// box means that the panel chooses its size; others take the whole body.
	box bool
	// end stops its data source, if any.
	end context.CancelFunc
	// asked is the request whose answer it shows, if any.
	asked *asked
}

// NewModel returns the model of a UI. Its requests end with ctx.
func NewModel(ctx context.Context, o Options) *Model {
	if o.Now == nil {
		o.Now = time.Now
	}
	m := &Model{opts: o, ctx: ctx, keys: newKeymap(), readOnly: o.ReadOnly || o.Locked || o.Player != nil, screens: newScreens(), line: prompt.New(), doing: map[string]bool{}}
	if o.Player != nil {
		m.play = newPlay(o.Player, o.PlaySpeed)
		m.state = m.play.state
	} else {
		m.state = fold.New(fold.About{Sandbox: o.Name}, 0)
	}
	m.setTheme(themeOf(o.Theme, true))
	m.bind()
	m.report()
	return m
}

// Init starts to read updates.
func (m *Model) Init() tea.Cmd {
	cmds := []tea.Cmd{m.tick()}
	if m.opts.Theme == "" {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	if m.play == nil {
		cmds = append(cmds, m.attach(), m.askKinds())
	}
	return tea.Batch(cmds...)
}

// setTheme sets the theme of all parts.
func (m *Model) setTheme(t *theme.Theme) {
	m.theme = t
	m.line.SetTheme(t)
	for _, p := range m.panels() {
		p.SetTheme(t)
	}
}

// panels returns all panels.
func (m *Model) panels() []panel.Panel {
	all := append([]panel.Panel(nil), m.screens[:]...)
	for _, o := range m.over {
		all = append(all, o.panel)
	}
	return all
}

// top returns the panel that gets the keys.
func (m *Model) top() panel.Panel {
	if n := len(m.over); n > 0 {
		return m.over[n-1].panel
	}
	return m.screens[m.at]
}

// report passes the state to the visible panels.
func (m *Model) report() {
	m.screens[m.at].SetState(m.state)
	for _, o := range m.over {
		o.panel.SetState(m.state)
	}
}

// resize lays out all parts.
func (m *Model) resize(width, height int) {
	m.width, m.height, m.layout = width, height, arrange(width, height)
	if m.layout.small {
		return
	}
	body := m.layout.body
	for _, s := range m.screens {
		s.SetSize(body.width, body.height)
	}
	for _, o := range m.over {
		m.place(o)
	}
}

// place sets the size of an overlay.
func (m *Model) place(o overlay) {
	body := m.layout.body
	if !o.box {
		o.panel.SetSize(body.width, body.height)
		return
	}
	w, h := boxSize(o.panel, body.width-4, body.height-4)
	o.panel.SetSize(w, h)
}

// boxSize returns the size of a popup, as far as there is room.
func boxSize(p panel.Panel, width, height int) (int, int) {
	w, h := min(72, width), min(18, height)
	if b, ok := p.(panel.Popup); ok {
		w, h = b.Size(width, height)
	}
	return max(1, min(w, width)), max(1, min(h, height))
}

// push puts a panel on top.
func (m *Model) push(p panel.Panel, box bool, end context.CancelFunc) {
	o := overlay{panel: p, box: box, end: end}
	m.over = append(m.over, o)
	p.SetTheme(m.theme)
	p.SetState(m.state)
	if !m.layout.small && m.width > 0 {
		m.place(o)
	}
	m.bind()
}

// pop closes the top panel, and reports whether there was one.
func (m *Model) pop() bool {
	n := len(m.over)
	if n == 0 {
		return false
	}
	if end := m.over[n-1].end; end != nil {
		end()
	}
	m.over = m.over[:n-1]
	m.bind()
	m.report()
	return true
}

// subject returns the selected object.
func (m *Model) subject() (api.Subject, bool) {
	if s, ok := m.top().(panel.Selector); ok {
		return s.Subject()
	}
	return api.Subject{}, false
}

// bind enables the keys that have an effect now, for hints and help.
func (m *Model) bind() {
	subject, ok := m.subject()
	k := &m.keys
	set := func(b *key.Binding, on bool) { b.SetEnabled(on) }
	_, filters := m.top().(panel.Filterer)
	live := m.play == nil
	set(&k.details, ok && live && subject.Kind != "service") // NSX is on neither plane: see why
	set(&k.why, ok && live && (subject.Kind == "node" || subject.Kind == "vm" || subject.Kind == "volume" || subject.Kind == "service"))
	set(&k.logs, live && m.opts.Logs != nil)
	set(&k.power, ok && !m.readOnly && (subject.Kind == "node" || subject.Kind == "vm"))
	set(&k.snapshots, live && !m.readOnly)
	set(&k.breaks, live && !m.readOnly && len(m.kinds) > 0)
	on, there := screenOf(subject)
	set(&k.focus, ok && there && m.at != on)
	k.focus.SetHelp("o", "show in "+strings.ToLower(on.String()))
	set(&k.filter, filters)
	if k.filter.SetHelp("/", "filter"); len(m.over) > 0 {
		k.filter.SetHelp("/", "find")
	}
	set(&k.suspend, !m.opts.Owned)
	set(&k.readOnly, live && !m.opts.Locked)
	for _, b := range []*key.Binding{&k.pause, &k.rewind, &k.forward, &k.slower, &k.faster} {
		set(b, !live)
	}
}

// newScreens returns the screens, in the order of their keys.
func newScreens() [intent.Screens]panel.Panel {
	return [intent.Screens]panel.Panel{
		intent.Overview: overview.New(),
		intent.Timeline: timeline.New(),
		intent.Volumes:  volumes.New(),
		intent.Faults:   faults.New(),
		intent.Calls:    calls.New(),
		intent.Scenario: scenario.New(),
		intent.Services: services.New(),
	}
}

// ErrCrashed is returned by [Run] after a panic of the UI. The terminal is restored, and has the reason.
var ErrCrashed = errors.New("the terminal UI crashed")

// Run shows the UI until the user leaves it or ctx ends, which is no error. It restores the terminal, even after a panic.
func Run(ctx context.Context, o Options) (Outcome, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	return run(ctx, NewModel(inner, o))
}

func run(ctx context.Context, m *Model, more ...tea.ProgramOption) (Outcome, error) {
	o, opts := m.opts, append(programOptions(ctx), more...)
	if o.Input != nil {
		opts = append(opts, tea.WithInput(o.Input))
	}
	if o.Output != nil {
		opts = append(opts, tea.WithOutput(o.Output))
	}
	if o.Environ != nil {
		opts = append(opts, tea.WithEnvironment(o.Environ))
	}
	_, err := tea.NewProgram(m, opts...).Run()
	switch {
	case err == nil, ctx.Err() != nil && !errors.Is(err, tea.ErrProgramPanic):
		return m.outcome, nil
	case errors.Is(err, tea.ErrProgramPanic):
		return m.outcome, fmt.Errorf("%w: %w", ErrCrashed, err)
	}
	return m.outcome, err
}

// programOptions are those of every terminal.
func programOptions(ctx context.Context) []tea.ProgramOption {
	return []tea.ProgramOption{tea.WithContext(ctx), tea.WithoutSignalHandler(), tea.WithFPS(30)}
}

// Sandbox is what the UI needs of a sandbox: an [api.Client].
type Sandbox interface {
	intent.Sandbox
	Status(ctx context.Context) (api.Status, error)
	Watch(ctx context.Context, after uint64, f func(api.Update) error) error
	FaultKinds(ctx context.Context) ([]api.FaultKind, error)
	Snapshots(ctx context.Context) ([]api.Snapshot, error)
	Explain(ctx context.Context, s api.Subject) (api.Explanation, error)
	Inspect(ctx context.Context, s api.Subject) (api.Inspection, error)
	LastExchange(ctx context.Context, vcenter, client, method string) (api.Exchange, error)
}

// Options configure the UI.
type Options struct {
	// Sandbox is the sandbox to show. Set either it or Player.
	Sandbox Sandbox
	// Player plays a recording, without actions.
	Player *replay.Player
	// PlaySpeed is the number of recorded seconds in a second. Default: 1.
	PlaySpeed float64

	// Name is the sandbox's name in command lines; "" for the default sandbox.
	Name string
	// ReadOnly refuses all changes, until ctrl+r turns it off.
	ReadOnly bool
	// Locked keeps read-only mode on.
	Locked bool
	// Owned makes quit ask whether to stop the sandbox.
	Owned bool
	// Mouse enables the mouse. The terminal then does not select text with it.
	Mouse bool
	// Theme is dark, light or mono; "" asks the terminal.
	Theme string

	// Logs follows the log of a component: it calls f with the last lines, then with new ones, until ctx ends.
	Logs func(ctx context.Context, component string, f func(lines []string)) error
	// Now is the clock. Default: time.Now.
	Now func() time.Time

	// Input and Output are the terminal, Environ its environment. Default: those of the process.
	Input   io.Reader
	Output  io.Writer
	Environ []string
}

// Outcome is the result of the UI.
type Outcome struct {
	// Stop means that the user wants the sandbox to stop.
	Stop bool
	// Leases is the number of faults that are still injected.
	Leases int
}

// crash is a panic of a goroutine outside of bubbletea. The model panics with it, so that bubbletea restores the terminal.
type crash struct {
	reason any
	stack  []byte
}

func (c *crash) Error() string { return fmt.Sprintf("%v\n\n%s", c.reason, c.stack) }

// guard is deferred by such a goroutine, and reports its panic.
func guard(report func(error)) {
	if r := recover(); r != nil {
		report(&crash{r, debug.Stack()})
	}
}

// raise panics if err is a crash.
func raise(err error) {
	if c, ok := errors.AsType[*crash](err); ok {
		panic(c.Error())
	}
}
