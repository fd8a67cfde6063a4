package pane

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
)

// Item is a choice.
type Item struct {
	Text string
	// Note is an additional remark.
	Note string
	// Intent is the effect of the choice.
	Intent intent.Intent
}

// List is a list of choices: "which component?". Make it with [NewList]. A filter hides what does not match.
type List struct {
	pane
	items  []Item
	filter string
	choose key.Binding
}

var (
	_ panel.Panel    = (*List)(nil)
	_ panel.Filterer = (*List)(nil)
	_ panel.Clicker  = (*List)(nil)
	_ panel.Popup    = (*List)(nil)
)

// NewList returns a list of items.
func NewList(title string, items []Item) *List {
	l := &List{pane: newPane(title), items: items, choose: bind("enter", "choose", "enter")}
	l.cursor = 0
	l.fill()
	return l
}

// Components returns the components of a sandbox, to choose a log.
func Components(s *fold.State) []Item {
	var items []Item
	for _, c := range world.Values[api.Component](s.World(), world.Component) {
		note := c.State
		if c.Message != "" {
			note += ": " + c.Message
		}
		items = append(items, Item{Text: c.Name, Note: note, Intent: intent.Logs{Component: c.Name}})
	}
	return items
}

// fill makes the lines.
func (l *List) fill() {
	filter := search{words: strings.Fields(strings.ToLower(l.filter))}
	wide := 0
	for _, item := range l.items {
		wide = max(wide, text.Width(text.Clean(item.Text)))
	}
	var lines []line
	for i, item := range l.items {
		if len(filter.words) > 0 && !filter.matches(item.Text+" "+item.Note) {
			continue
		}
		row := line{item: i + 1}
		row.add(item.Text, plain)
		if item.Note != "" {
			row.pad(wide + 2)
			row.add(item.Note, dim)
		}
		lines = append(lines, row)
	}
	l.viewer.set(lines)
	l.show()
}

// SetFilter implements [panel.Filterer].
func (l *List) SetFilter(filter string) {
	l.filter = filter
	l.fill()
}

// Bindings implements [panel.Panel].
func (l *List) Bindings() []key.Binding {
	choose := l.choose
	choose.SetEnabled(len(l.lines) > 0)
	return append([]key.Binding{choose}, l.keys.live(&l.viewer)...)
}

// Handle implements [panel.Panel].
func (l *List) Handle(k tea.KeyPressMsg) (intent.Intent, bool) {
	if key.Matches(k, l.choose) {
		return l.chosen(), true
	}
	return nil, l.keys.handle(&l.viewer, k)
}

func (l *List) chosen() intent.Intent {
	if l.cursor < len(l.lines) {
		return l.items[l.lines[l.cursor].item-1].Intent
	}
	return nil
}

// Click implements [panel.Clicker]: it chooses.
func (l *List) Click(_, y int) (intent.Intent, bool) {
	i := l.top + y - 1
	if y < 1 || i >= l.count() {
		return nil, true
	}
	l.cursor = l.lineAt(i)
	return l.chosen(), true
}

// Size implements [panel.Popup].
func (l *List) Size(width, height int) (int, int) {
	return min(width, max(l.widest, text.Width(l.title)+20)), min(height, len(l.items)+1)
}

// View implements [panel.Panel].
func (l *List) View() string {
	if len(l.lines) > 0 {
		return l.pane.View()
	}
	said := "there is nothing to choose"
	if len(l.items) > 0 {
		said = "nothing matches " + text.Clean(l.filter)
	}
	return l.frame("", []string{l.theme.Dim.Render(said)})
}

// Section is bindings with a heading.
type Section struct {
	Title    string
	Bindings []key.Binding
}

// Help shows all enabled keys, in as many columns as there is room for. Make it with [NewHelp].
type Help struct {
	pane
	sections []Section
}

var (
	_ panel.Panel    = (*Help)(nil)
	_ panel.Filterer = (*Help)(nil)
	_ panel.Clicker  = (*Help)(nil)
)

// NewHelp shows bindings; it leaves out disabled ones and empty sections.
func NewHelp(sections []Section) *Help {
	return &Help{pane: newPane("Help"), sections: sections}
}

// SetSize implements [panel.Panel].
func (h *Help) SetSize(width, height int) {
	h.pane.SetSize(width, height)
	h.viewer.set(h.columns())
}

// Bindings implements [panel.Panel].
func (h *Help) Bindings() []key.Binding { return h.keys.live(&h.viewer) }

// Handle implements [panel.Panel].
func (h *Help) Handle(k tea.KeyPressMsg) (intent.Intent, bool) {
	return nil, h.keys.handle(&h.viewer, k)
}

// Click implements [panel.Clicker]: there is nothing to choose.
func (h *Help) Click(int, int) (intent.Intent, bool) { return nil, true }

// between is the space between columns.
const between = 3

// columns distributes the sections over columns of about equal length, without splitting one.
func (h *Help) columns() []line {
	var blocks [][]line
	wide, all := 0, 0
	for _, s := range h.sections {
		block := section(s)
		for _, l := range block {
			wide = max(wide, l.width)
		}
		if len(block) > 0 {
			blocks = append(blocks, block)
			all += len(block) + 1
		}
	}
	n := min(max(1, (h.width+between)/(wide+between)), max(1, len(blocks)))
	return beside(spread(blocks, n, all), wide+between)
}

// section returns the lines of a section; none if no binding is enabled.
func section(s Section) []line {
	keys := 0
	var live []key.Binding
	for _, b := range s.Bindings {
		if b.Enabled() && b.Help().Desc != "" {
			live = append(live, b)
			keys = max(keys, text.Width(b.Help().Key))
		}
	}
	if len(live) == 0 {
		return nil
	}
	lines := []line{of(s.Title, title)}
	for _, b := range live {
		l := of("  "+b.Help().Key, press)
		l.pad(2 + keys + 2)
		l.add(b.Help().Desc, plain)
		lines = append(lines, l)
	}
	return lines
}

// spread distributes blocks over columns in order, so that the longest column is as short as possible.
func spread(blocks [][]line, columns, all int) [][]line {
	for height := (all + columns - 1) / columns; ; height++ {
		out := [][]line{{}}
		for _, b := range blocks {
			last := &out[len(out)-1]
			switch {
			case len(*last) == 0:
				*last = append(*last, b...)
			case len(*last)+1+len(b) <= height:
				*last = append(append(*last, line{}), b...)
			default:
				out = append(out, append([]line{}, b...))
			}
		}
		if len(out) <= columns {
			return out
		}
	}
}

// beside joins columns side by side.
func beside(columns [][]line, wide int) []line {
	var lines []line
	for n, column := range columns {
		for i, l := range column {
			if i == len(lines) {
				lines = append(lines, line{})
			}
			to := &lines[i]
			to.pad(n * wide)
			at := 0
			for _, s := range l.spans {
				to.add(l.text[at:s.to], s.look)
				at = s.to
			}
		}
	}
	return lines
}

// Logs shows the log of a component: the newest [Most] lines. Make it with [NewLogs]. It follows the log until the user scrolls
// up, and again at its end.
type Logs struct {
	pane
	component string
	begun     bool
	follows   key.Binding
}

var (
	_ panel.Panel    = (*Logs)(nil)
	_ panel.Filterer = (*Logs)(nil)
	_ panel.Clicker  = (*Logs)(nil)
)

// NewLogs shows the log of a component.
func NewLogs(component string) *Logs {
	l := &Logs{pane: newPane("Logs " + component), component: component, follows: bind("t", "follow, or stay here", "t")}
	l.follow, l.grows = true, true
	l.viewer.set(loading())
	return l
}

// Component returns the component of the log.
func (l *Logs) Component() string { return l.component }

// Append adds lines. Without lines, the first call means that the log is empty so far.
func (l *Logs) Append(lines []string) {
	if !l.begun {
		l.begun = true
		l.viewer.set(nil)
	}
	if n := len(lines); n > Most {
		lines = lines[n-Most:]
	}
	added := make([]line, len(lines))
	for i, s := range lines {
		added[i] = logLine(s)
	}
	l.viewer.add(added)
}

// SetError records that the log cannot be read, or not any further: its lines stay.
func (l *Logs) SetError(err error) {
	if err == nil {
		return
	}
	if !l.begun {
		l.begun = true
		l.viewer.set(nil)
	}
	l.viewer.add(failure(err, max(20, l.width)))
}

// Bindings implements [panel.Panel].
func (l *Logs) Bindings() []key.Binding {
	return append(l.keys.live(&l.viewer), l.follows)
}

// Handle implements [panel.Panel].
func (l *Logs) Handle(k tea.KeyPressMsg) (intent.Intent, bool) {
	if key.Matches(k, l.follows) {
		l.follow = !l.follow
		l.clamp()
		return nil, true
	}
	return nil, l.keys.handle(&l.viewer, k)
}

// Click implements [panel.Clicker]: there is nothing to choose.
func (l *Logs) Click(int, int) (intent.Intent, bool) { return nil, true }

// View implements [panel.Panel].
func (l *Logs) View() string {
	where := "stays here"
	if l.follow {
		where = "follows"
	}
	if at := l.where(); at != "" {
		where = at + "  " + where
	}
	body := l.viewer.view()
	if l.begun && len(l.lines) == 0 {
		body = []string{l.theme.Dim.Render("nothing is written yet")}
	}
	return l.frame(where, body)
}

// logLine formats a line of a log: errors and warnings of klog and slog are highlighted.
func logLine(s string) line {
	as := plain
	switch {
	case klog(s, "EF"), strings.Contains(s, "level=ERROR"), strings.Contains(s, `"level":"error"`), strings.Contains(s, `"level":"ERROR"`):
		as = bad
	case klog(s, "W"), strings.Contains(s, "level=WARN"), strings.Contains(s, `"level":"warn"`), strings.Contains(s, `"level":"WARN"`):
		as = warn
	}
	return of(strings.ReplaceAll(s, "\t", "    "), as)
}

// klog reports whether a line is klog's, with one of the levels: W1122 13:15:43.123456.
func klog(s, levels string) bool {
	return len(s) > 5 && strings.IndexByte(levels, s[0]) >= 0 && s[5] == ' ' && strings.Trim(s[1:5], "0123456789") == ""
}
