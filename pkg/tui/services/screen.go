package services

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/table"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// Screen is the screen of Services. Make it with [New].
type Screen struct {
	width, height int
	theme         *theme.Theme
	state         *fold.State
	table         table.Table
	keys          keys

	version uint64 // of the rows, plus one
	all     []api.Service
	// forwards are the VirtualMachineServices of the Supervisor by the names of their Services; nil without a Supervisor.
	forwards map[string]api.VirtualMachineService
	// stray are those of no Service.
	stray  int
	shown  int
	filter string
}

// New returns a screen without Services: it needs a size, a theme and a state.
func New() *Screen { return &Screen{theme: theme.Mono(), keys: newKeys()} }

// SetTheme sets its theme.
func (s *Screen) SetTheme(t *theme.Theme) {
	s.theme = t
	s.table.SetTheme(t)
}

// SetState applies the changes of the state.
func (s *Screen) SetState(state *fold.State) {
	s.state = state
	if v := state.Version(world.Service, world.VirtualMachineService) + 1; v != s.version {
		s.version = v
		s.all = world.Values[api.Service](state.World(), world.Service)
		s.join(world.Values[api.VirtualMachineService](state.World(), world.VirtualMachineService))
		s.table.SetColumns(columns(s.forwards != nil))
		s.list()
	}
}

// join sets the VirtualMachineServices of the Services.
func (s *Screen) join(all []api.VirtualMachineService) {
	s.forwards, s.stray = nil, 0
	for _, v := range all {
		if s.forwards == nil {
			s.forwards = map[string]api.VirtualMachineService{}
		}
		if s.forwards[v.Service] = v; !slices.ContainsFunc(s.all, func(of api.Service) bool { return of.Name == v.Service }) {
			s.stray++
		}
	}
}

// SetFilter shows only the Services with all words in names, addresses, classes and states.
func (s *Screen) SetFilter(filter string) {
	if filter != s.filter {
		s.filter = filter
		s.list()
	}
}

// list makes the rows of the table.
func (s *Screen) list() {
	var rows []table.Row
	filter := strings.Fields(strings.ToLower(s.filter))
	for _, v := range s.all {
		if s.found(v, filter) {
			rows = append(rows, table.Row{Key: v.Name, Cells: func() []table.Cell { return s.cells(v) }})
		}
	}
	s.shown = len(rows)
	s.table.Empty = "No Services of type LoadBalancer. “kubectl expose --type LoadBalancer” creates one."
	if len(s.all) > 0 {
		s.table.Empty = "No Service matches “" + text.Clean(s.filter) + "”."
	}
	s.table.SetRows(rows)
}

func (s *Screen) found(v api.Service, filter []string) bool {
	state := stateOf(v)
	words := strings.ToLower(strings.Join(slices.Concat([]string{v.Name, v.Class, state.Word, v.NSX, v.NSXError, s.forward(v).Word}, v.Addresses, v.Ports), " "))
	return !slices.ContainsFunc(filter, func(w string) bool { return !strings.Contains(words, w) })
}

// stateOf returns what there is to know of a Service at a glance.
func stateOf(v api.Service) glance.Mark {
	switch {
	case v.NSXError != "":
		return glance.Mark{Glyph: theme.GlyphBad, Word: "failed", Level: glance.Bad}
	case v.Deleting:
		return glance.Mark{Glyph: theme.GlyphWarn, Word: "deleting", Level: glance.Warn}
	case len(v.Addresses) == 0:
		return glance.Mark{Glyph: theme.GlyphWarn, Word: "pending", Level: glance.Warn}
	}
	return glance.Mark{Glyph: theme.GlyphGood, Word: "answers", Level: glance.Good}
}

// forward returns the VirtualMachineService of a Service at a glance: why it has no address, or where it forwards to.
func (s *Screen) forward(v api.Service) glance.Mark {
	f, ok := s.forwards[v.Name]
	name := f.Namespace + "/" + f.Name
	switch {
	case !ok && s.forwards == nil:
		return glance.Mark{}
	case !ok:
		return glance.Mark{Glyph: theme.GlyphWarn, Word: "none yet", Level: glance.Warn}
	case f.Pending != "":
		return glance.Mark{Glyph: theme.GlyphBad, Word: name + ": " + f.Pending, Level: glance.Bad}
	case f.Deleting:
		return glance.Mark{Glyph: theme.GlyphWarn, Word: name + ", deleting", Level: glance.Warn}
	case len(f.Endpoints) == 0:
		return glance.Mark{Glyph: theme.GlyphWarn, Word: name + " → no VirtualMachine", Level: glance.Warn}
	}
	return glance.Mark{Word: name + " → " + strings.Join(f.Endpoints, ", ")}
}

type keys struct {
	cursor table.Keys
	why    key.Binding
}

func newKeys() keys {
	return keys{
		cursor: table.NewKeys(),
		why:    table.Bind("enter", "where it answers, or why not", "enter"),
	}
}

// Bindings returns the keys of the Services.
func (s *Screen) Bindings() []key.Binding {
	k := s.now()
	return append(k.cursor.Bindings(), k.why)
}

// now returns the keys, disabled where there is no Service.
func (s *Screen) now() keys {
	k := s.keys
	k.cursor.SetEnabled(s.shown > 0)
	k.why.SetEnabled(s.shown > 0)
	return k
}

// Handle handles the keys of [Screen.Bindings].
func (s *Screen) Handle(msg tea.KeyPressMsg) (intent.Intent, bool) {
	k := s.now()
	switch {
	case k.cursor.Move(&s.table, msg):
	case key.Matches(msg, k.why):
		subject, _ := s.Subject()
		return intent.Why{Subject: subject}, true
	default:
		return nil, false
	}
	return nil, true
}

// Subject returns the Service with the cursor.
func (s *Screen) Subject() (api.Subject, bool) {
	name, ok := s.table.Key()
	return api.Subject{Kind: "service", Name: name}, ok
}

// Choose moves the cursor to a Service.
func (s *Screen) Choose(subject api.Subject) bool {
	return subject.Kind == "service" && s.table.Choose(subject.Name)
}

// Click moves the cursor to a row.
func (s *Screen) Click(_, y int) (intent.Intent, bool) { return nil, y >= 1 && s.table.Click(y-1) }

// Wheel moves the cursor.
func (s *Screen) Wheel(lines int) { s.table.Move(lines) }

// SetSize sets its size.
func (s *Screen) SetSize(width, height int) {
	s.width, s.height = width, height
	s.table.SetColumns(columns(s.forwards != nil))
	s.table.SetSize(width, max(0, height-1))
}

// View returns the screen.
func (s *Screen) View() string {
	if s.width <= 0 || s.height <= 0 {
		return ""
	}
	view := text.Fit(s.title(), s.width)
	if s.height > 1 {
		view += "\n" + s.table.View()
	}
	return view
}

// title counts the Services, and those of each state.
func (s *Screen) title() string {
	th := s.theme
	counts := map[string]int{}
	for _, v := range s.all {
		counts[stateOf(v).Word]++
	}
	word := " Services"
	if len(s.all) == 1 {
		word = " Service"
	}
	parts := []string{th.Text.Render(fmt.Sprint(len(s.all)) + word)}
	for _, v := range []api.Service{{NSXError: "-"}, {Deleting: true}, {}, {Addresses: []string{"-"}}} {
		m := stateOf(v)
		if n := counts[m.Word]; n > 0 {
			parts = append(parts, m.Style(th).Render(fmt.Sprintf("%s %d %s", m.Glyph, n, m.Word)))
		}
	}
	if s.stray > 0 {
		parts = append(parts, th.Warn.Render(fmt.Sprintf("%s %s of no Service here", theme.GlyphWarn, shorten.Count(s.stray, "VirtualMachineService"))))
	}
	if s.filter != "" {
		parts = append(parts, th.Match.Render("filter “"+text.Clean(s.filter)+"”")+th.Dim.Render(fmt.Sprintf(" %d of %d", s.shown, len(s.all))))
	}
	return strings.Join(parts, th.Dim.Render(" · "))
}

// columns returns the columns, in the order of cells. All begin with a cell for the mark of a change.
func columns(supervisor bool) []table.Column {
	last := table.Column{Title: " NSX", Width: 14, Flex: 4, Drop: 1}
	if supervisor {
		last = table.Column{Title: " VIRTUALMACHINESERVICE", Width: 24, Flex: 4, Drop: 1}
	}
	return []table.Column{
		{Title: " SERVICE", Width: 20, Flex: 2},
		{Title: " STATE", Width: 11},
		{Title: " ADDRESS", Width: 17, Flex: 1},
		{Title: " PORTS", Width: 12, Flex: 1, Drop: 2},
		{Title: " CLASS", Width: 10, Drop: 3},
		last,
	}
}

func (s *Screen) cells(v api.Service) []table.Cell {
	th := s.theme
	change, ok := s.state.Changed(world.Service, v.Name)
	state := stateOf(v)
	nsx := table.Cell{Text: text.Clean(strings.ToLower(v.NSX)), Style: th.Dim}
	if v.NSXError != "" {
		nsx = table.Cell{Text: text.Clean(v.NSXError), Style: state.Style(th)}
	}
	if forward := s.forward(v); forward.Word != "" {
		nsx = table.Cell{Text: text.Clean(forward.String()), Style: forward.Style(th)}
	}
	plain := func(words string) table.Cell { return table.Cell{Text: text.Clean(words), Style: th.Text} }
	cells := []table.Cell{
		plain(v.Name), {Text: state.String(), Style: state.Style(th)}, plain(strings.Join(v.Addresses, " ")), plain(strings.Join(v.Ports, " ")), plain(v.Class), nsx,
	}
	for i, fields := range [][]string{nil, {"deleting"}, {"addresses"}, {"ports"}, {"class"}, {"nsx", "nsxError"}} {
		isNew := i == 0 && change.Fields == nil
		has := slices.ContainsFunc(fields, func(f string) bool { return slices.Contains(change.Fields, f) })
		cells[i] = cells[i].Marked(ok && !change.Gone && (isNew || has), th)
	}
	return cells
}
