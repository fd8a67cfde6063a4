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
