package tui

import (
	"context"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/faults"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/prompt"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
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
	set(&k.details, ok && live)
	set(&k.why, ok && live && (subject.Kind == "node" || subject.Kind == "vm" || subject.Kind == "volume"))
	set(&k.logs, live && m.opts.Logs != nil)
	set(&k.power, ok && !m.readOnly && (subject.Kind == "node" || subject.Kind == "vm"))
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
