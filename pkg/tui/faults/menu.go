package faults

import (
	"cmp"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/table"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// Menu is a list of actions to choose from. Make it with [NewMenu] or [NewPower].
type Menu struct {
	// Sandbox is the name of the sandbox in command lines; "" for the default sandbox.
	Sandbox string

	title   string
	entries []entry
	// typed menus are searched by typing; others have a letter for each entry.
	typed bool
	// again updates the entries after a change; nil for a menu that never changes.
	again func(*fold.State)

	theme         *theme.Theme
	table         table.Table
	width, height int
	search        []rune
	shown         []int // entries that were found
}

// entry is a line of a menu.
type entry struct {
	group string // the heading it is under
	key   string // of a menu with letters
	name  string
	what  string
	// why is the reason why it has no effect now, or "".
	why string
	// note is an additional remark.
	note   string
	intent intent.Intent
	// search is the text for the search.
	search string
}

func newMenu(title string, typed bool, entries []entry) *Menu {
	m := &Menu{title: title, typed: typed, entries: entries, theme: theme.Mono()}
	m.table.SetTheme(m.theme)
	m.table.Empty = "nothing is called so"
	m.find()
	return m
}

// SetSize implements [panel.Panel].
func (m *Menu) SetSize(width, height int) {
	m.width, m.height = width, height
	m.table.SetSize(width, max(0, height-m.above()-m.below()))
	m.columns()
}

// above and below are the lines around the list.
func (m *Menu) above() int {
	if m.height < 8 {
		return 1
	}
	return 2
}

func (m *Menu) below() int {
	if m.height < 6 {
		return 0
	}
	return 1
}

// Size implements [panel.Popup].
func (m *Menu) Size(width, height int) (int, int) {
	if m.typed {
		return min(96, width), min(20, height)
	}
	return min(76, width), min(len(m.entries)+4, height)
}

// SetTheme implements [panel.Panel].
func (m *Menu) SetTheme(t *theme.Theme) {
	m.theme = t
	m.table.SetTheme(t)
}

// SetState implements [panel.Panel]. The entries keep their places while the menu is open.
func (m *Menu) SetState(s *fold.State) {
	if m.again != nil {
		m.again(s)
	}
}

// Typing implements [panel.Typist].
func (m *Menu) Typing() bool { return m.typed }

// Paste adds pasted text to the search.
func (m *Menu) Paste(s string) {
	if m.typed {
		m.searched(append(m.search, []rune(text.Clean(s))...))
	}
}

func (m *Menu) columns() {
	name := 0
	for i := range m.entries {
		name = max(name, text.Width(m.entries[i].name))
	}
	c := []table.Column{{Title: "", Width: 1}, {Title: "NAME", Width: min(name, max(12, m.width/2))}, {Title: "WHAT", Width: 10, Flex: 1, Drop: 1}}
	m.table.SetColumns(c)
}

// find makes the rows that match the search.
func (m *Menu) find() {
	m.shown = m.shown[:0]
	var rows []table.Row
	group := ""
	for i := range m.entries {
		e := &m.entries[i]
		if !text.Found(string(m.search), e.search) {
			continue
		}
		if e.group != group {
			group = e.group
			rows = append(rows, table.Row{Key: "group " + group, Fixed: true, Cells: m.heading(group)})
		}
		m.shown = append(m.shown, i)
		rows = append(rows, table.Row{Key: e.group + "\x00" + e.name, Cells: func() []table.Cell { return m.cells(e) }})
	}
	m.table.SetRows(rows)
}

func (m *Menu) heading(group string) func() []table.Cell {
	return func() []table.Cell { return []table.Cell{{}, {Text: group, Style: m.theme.Group}} }
}

func (m *Menu) cells(e *entry) []table.Cell {
	letter := table.Cell{Text: e.key, Style: m.theme.Key}
	if e.why != "" {
		return []table.Cell{letter, {Text: e.name, Style: m.theme.Dim}, {Text: theme.GlyphOff + " " + e.why, Style: m.theme.Dim}}
	}
	what := table.Cell{Text: e.what, Style: m.theme.Dim}
	if e.note != "" {
		what = table.Cell{Text: e.note, Style: m.theme.Warn}
	}
	return []table.Cell{letter, {Text: e.name, Style: m.theme.Text}, what}
}

// chosen returns the entry with the cursor.
func (m *Menu) chosen() *entry {
	k, ok := m.table.Key()
	if !ok {
		return nil
	}
	for _, i := range m.shown {
		if e := &m.entries[i]; e.group+"\x00"+e.name == k {
			return e
		}
	}
	return nil
}

// Handle implements [panel.Panel].
func (m *Menu) Handle(k tea.KeyPressMsg) (intent.Intent, bool) {
	name := k.String()
	switch name {
	case "esc":
		if m.typed && len(m.search) > 0 {
			m.searched(nil)
			return nil, true
		}
		return intent.Back{}, true
	case "enter":
		return m.do(m.chosen()), true
	case "up", "ctrl+p":
		m.table.Move(-1)
	case "down", "ctrl+n":
		m.table.Move(1)
	case "pgup":
		m.table.Move(-m.table.Page())
	case "pgdown":
		m.table.Move(m.table.Page())
	case "home":
		m.table.Move(-len(m.entries) * 2)
	case "end":
		m.table.Move(len(m.entries) * 2)
	default:
		if m.typed {
			return nil, m.edit(k)
		}
		return m.letter(name)
	}
	return nil, true
}

// letter handles keys of menus with letters.
func (m *Menu) letter(name string) (intent.Intent, bool) {
	for i := range m.entries {
		if e := &m.entries[i]; e.key == name {
			m.table.Choose(e.group + "\x00" + e.name)
			return m.do(e), true
		}
	}
	switch name {
	case "j":
		m.table.Move(1)
	case "k":
		m.table.Move(-1)
	default:
		return nil, false
	}
	return nil, true
}

// edit handles keys of searched menus.
func (m *Menu) edit(k tea.KeyPressMsg) bool {
	switch k.String() {
	case "backspace", "ctrl+h":
		m.searched(m.search[:max(0, len(m.search)-1)])
	case "ctrl+w", "alt+backspace":
		s := strings.TrimRight(string(m.search), " ")
		m.searched([]rune(s[:strings.LastIndexByte(s, ' ')+1]))
	case "ctrl+u":
		m.searched(nil)
	default:
		if k.Text == "" {
			return false
		}
		m.searched(append(m.search, []rune(text.Clean(k.Text))...))
	}
	return true
}

// searched moves the cursor to the first match; a match in the name has priority.
func (m *Menu) searched(s []rune) {
	m.search = s
	m.find()
	m.table.Move(-len(m.entries) * 2)
	for _, i := range m.shown {
		if e := &m.entries[i]; text.Found(string(s), e.name) {
			m.table.Choose(e.group + "\x00" + e.name)
			return
		}
	}
}

func (m *Menu) do(e *entry) intent.Intent {
	switch {
	case e == nil:
		return nil
	case e.why != "":
		return intent.Say{Text: e.name + ": " + e.why, Bad: true}
	}
	return e.intent
}

// Click implements [panel.Clicker]: it selects, and runs the entry that is selected already.
func (m *Menu) Click(_, y int) (intent.Intent, bool) {
	before, _ := m.table.Key()
	if !m.table.Click(y - m.above()) {
		return nil, true
	}
	if k, _ := m.table.Key(); k == before {
		return m.do(m.chosen()), true
	}
	return nil, true
}

// Wheel implements [panel.Clicker].
func (m *Menu) Wheel(lines int) { m.table.Move(lines) }

// Bindings implements [panel.Panel].
func (m *Menu) Bindings() []key.Binding {
	b := []key.Binding{
		key.NewBinding(key.WithKeys("up", "down"), key.WithHelp("↑↓", "choose")),
		key.NewBinding(key.WithKeys("enter"), key.WithHelp("enter", "do it")),
		key.NewBinding(key.WithKeys("esc"), key.WithHelp("esc", "close")),
	}
	if m.typed {
		return append(b, key.NewBinding(key.WithKeys("a-z"), key.WithHelp("a-z", "search by typing")))
	}
	for i := range m.entries {
		e := &m.entries[i]
		one := key.NewBinding(key.WithKeys(e.key), key.WithHelp(e.key, e.name))
		one.SetEnabled(e.why == "")
		b = append(b, one)
	}
	return b
}

// View implements [panel.Panel].
func (m *Menu) View() string {
	if m.width <= 0 || m.height <= 0 {
		return ""
	}
	lines := []string{m.theme.Title.Render(m.title)}
	if m.typed {
		lines[0] += "  " + m.theme.Prompt.Render(string(m.search)) + cursor(m.theme, " ")
		if len(m.search) == 0 {
			lines[0] += m.theme.Dim.Render(" type to search")
		}
	}
	for len(lines) < m.above() {
		lines = append(lines, "")
	}
	lines = append(lines, strings.Split(m.table.View(), "\n")...)
	if m.below() > 0 {
		foot := hints(m.theme, m.width, "enter", cmp.Or(m.command(), "choose"), "esc", "close")
		lines = append(lines[:min(len(lines), m.height-1)], foot)
	}
	return text.Block(lines, m.width, m.height)
}

// command returns the command line of the chosen action.
func (m *Menu) command() string {
	e := m.chosen()
	if e == nil || e.why != "" {
		return ""
	}
	if a, ok := e.intent.(intent.Action); ok {
		return "$ " + text.Cut(text.Clean(intent.Line(a, program, m.Sandbox)), m.width-20)
	}
	return ""
}

// NewMenu returns the menu of the faults for a subject and what belongs to it: the VM of a node, the node of a VM. The zero value
// means all faults, by theme. The choice is an [intent.Fill].
func NewMenu(kinds []api.FaultKind, subject api.Subject, state *fold.State) *Menu {
	title, entries := "Break", []entry(nil)
	if subject.Name == "" {
		for _, k := range kinds {
			entries = append(entries, offer(k, k.Theme, api.Subject{}, state))
		}
		return newMenu(title, true, entries)
	}
	there := known{state: state}
	for _, s := range related(subject, state) {
		group := strings.TrimSpace(s.Kind + " " + there.called(s))
		for _, k := range kinds {
			if object(k) == s.Kind && fits(k, s) {
				entries = append(entries, offer(k, group, s, state))
			}
		}
	}
	m := newMenu(title+" "+text.Clean(subject.Kind+" "+subject.Name), true, entries)
	if len(entries) == 0 {
		m.table.Empty = "No fault happens to a " + text.Clean(subject.Kind) + "."
	}
	return m
}

// fits reports whether a fault of components applies to this component: those of the CSI driver apply to its processes only.
func fits(k api.FaultKind, s api.Subject) bool {
	if s.Kind != "component" || !strings.HasPrefix(k.Name, "csi.") {
		return true
	}
	return strings.HasPrefix(s.Name, "csi-") || strings.HasPrefix(s.Name, "snapshot-")
}

func offer(k api.FaultKind, group string, s api.Subject, state *fold.State) entry {
	if s.Name == "" {
		s = api.Subject{}
	}
	e := entry{
		group: text.Clean(group), name: text.Clean(k.Name), what: text.Clean(k.Short), why: text.Clean(k.Unsupported),
		intent: intent.Fill{Kind: k.Name, Subject: s},
		search: strings.Join([]string{k.Name, k.Theme, k.Object, k.Short, group}, " "),
	}
	if id := hit(k.Name, s, state); id != "" {
		e.note = text.Clean("in force already: " + id)
	}
	return e
}

// hit returns the lease of a fault on a subject that is not healed, or "".
func hit(kind string, s api.Subject, state *fold.State) string {
	for _, l := range world.Values[api.Lease](state.World(), world.Lease) {
		if l.Fault != kind || l.State == healed {
			continue
		}
		if slices.ContainsFunc(l.Targets, func(t api.LeaseTarget) bool {
			return t.Name == s.Name && (t.VCenter == "" || s.VCenter == "" || t.VCenter == s.VCenter)
		}) {
			return l.ID
		}
	}
	return ""
}

// NewPower returns the power menu of a VM. Entries without effect in the current state of the VM show why; they are updated while
// the menu is open.
func NewPower(subject api.Subject, vm api.VM) *Menu {
	m := newMenu(powerTitle(vm), false, powerEntries(subject, vm, ""))
	seen := uint64(0)
	m.again = func(s *fold.State) {
		if v := s.Version(world.VM) + 1; v != seen {
			seen = v
			now, gone := vm, "it is gone"
			for _, one := range world.Values[api.VM](s.World(), world.VM) {
				if one.Name == vm.Name && one.VCenter == vm.VCenter {
					now, gone = one, ""
				}
			}
			if m.title = powerTitle(now); gone != "" {
				m.title = text.Clean("VM "+subject.Name) + "  " + theme.GlyphBad + " gone"
			}
			m.entries = powerEntries(subject, now, gone)
			m.find()
		}
	}
	return m
}

func powerTitle(vm api.VM) string {
	return text.Clean("VM "+vm.Name) + "  " + glance.Power(vm).String()
}

// powerEntries returns the entries, always in the same order. gone is a reason that disables all.
func powerEntries(subject api.Subject, vm api.VM, gone string) []entry {
	var entries []entry
	for _, a := range []struct {
		key, name, what string
		action          api.VMAction
		why             string
	}{
		{"o", "power on", "boots it, or resumes what is suspended", api.PowerOn, notOn(vm)},
		{"f", "power off", "pulls the plug: NotReady, and the shutdown taint", api.PowerOff, notOff(vm)},
		{"s", "suspend", "stops it where it is, until it is powered on", api.Suspend, notSuspend(vm)},
		{"r", "reset", "kills its kubelet and boots it again", api.Reset, notOff(vm)},
		{"h", "hang", "stops its guest where vSphere does not see it", api.Hang, notHang(vm)},
		{"m", "move", "to another host of its datacenter, as vMotion does", api.Move, ""},
		{"D", "destroy", "with its disks; its node is removed", api.Destroy, ""},
	} {
		do := intent.VM{VMRequest: api.VMRequest{Action: a.action, VM: subject.Name, VCenter: subject.VCenter}}
		e := entry{key: a.key, name: a.name, what: a.what, why: cmp.Or(gone, a.why), intent: do}
		if a.action == api.Move { // the prompt knows which hosts there are
			e.intent = intent.Prompt{Text: intent.Quote(do.Args()...) + " --to "}
		}
		entries = append(entries, e)
	}
	return entries
}

func notOn(vm api.VM) string {
	if vm.Power == "on" {
		return "it is on"
	}
	return ""
}

// notOff returns why an action needs a VM that is not off. A suspended one can be powered off and reset.
func notOff(vm api.VM) string {
	if vm.Power == "off" {
		return "it is off"
	}
	return ""
}

func notSuspend(vm api.VM) string {
	if vm.Power != "on" {
		return "it is " + vm.Power
	}
	return ""
}

// notHang returns why an action needs a running guest.
func notHang(vm api.VM) string {
	switch {
	case vm.Power != "on":
		return "it is " + vm.Power
	case vm.Process == "":
		return "no kubelet of the sandbox runs in it"
	case vm.Process == "hung", vm.Process == "suspended":
		return "it hangs already; reset ends that"
	case vm.Process != "running":
		return "its kubelet is " + vm.Process
	}
	return ""
}
