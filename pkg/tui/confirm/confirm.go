package confirm

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// Question asks for a confirmation, as an overlay. Make it with [New]. It takes every key except ctrl+c, so that no panel below
// it gets one.
type Question struct {
	action   intent.Action
	question string
	line     string
	yes      bool // the focus is on it

	theme         *theme.Theme
	width, height int
	keys          keys
}

type keys struct{ yes, no, move, choose key.Binding }

var (
	_ panel.Panel   = (*Question)(nil)
	_ panel.Popup   = (*Question)(nil)
	_ panel.Clicker = (*Question)(nil)
)

// New asks whether to do a, whose command line is line: see [intent.Line]. The answer is the action itself, or [intent.Back].
func New(a intent.Action, line string) *Question {
	return &Question{
		action: a, question: text.Clean(a.Danger()), line: text.Clean(line), theme: theme.Mono(),
		keys: keys{
			yes:    key.NewBinding(key.WithKeys("y", "Y"), key.WithHelp("y", "do it")),
			no:     key.NewBinding(key.WithKeys("n", "N", "esc", "q"), key.WithHelp("n/esc", "leave it")),
			move:   key.NewBinding(key.WithKeys("left", "right", "h", "l", "tab", "shift+tab"), key.WithHelp("←/→", "yes or no")),
			choose: key.NewBinding(key.WithKeys("enter"), key.WithHelp("enter", "what is marked")),
		},
	}
}

// SetSize implements [panel.Panel].
func (q *Question) SetSize(width, height int) { q.width, q.height = width, height }

// SetTheme implements [panel.Panel].
func (q *Question) SetTheme(t *theme.Theme) { q.theme = t }

// SetState implements [panel.Panel]: it knows what it asks.
func (q *Question) SetState(*fold.State) {}

// Bindings implements [panel.Panel].
func (q *Question) Bindings() []key.Binding {
	return []key.Binding{q.keys.yes, q.keys.no, q.keys.move, q.keys.choose}
}

// Handle implements [panel.Panel].
func (q *Question) Handle(k tea.KeyPressMsg) (intent.Intent, bool) {
	switch {
	case k.String() == "ctrl+c":
		return nil, false
	case key.Matches(k, q.keys.yes):
		return q.action, true
	case key.Matches(k, q.keys.no):
		return intent.Back{}, true
	case key.Matches(k, q.keys.move):
		q.yes = !q.yes
	case key.Matches(k, q.keys.choose):
		return q.answer(q.yes), true
	}
	return nil, true
}

func (q *Question) answer(yes bool) intent.Intent {
	if yes {
		return q.action
	}
	return intent.Back{}
}

// The box has a cell of space on both sides.
const (
	frame  = 2
	widest = 76
	least  = 30
)

// Size implements [panel.Popup].
func (q *Question) Size(width, height int) (int, int) {
	w := min(width, widest, max(least, text.Width(q.question), text.Width(q.line)+2)+frame)
	return w, min(height, len(q.body(w-frame)))
}

// body returns the lines in the box: the question, the command line, the answers.
func (q *Question) body(width int) []string {
	var lines []string
	for _, l := range text.Wrap(q.question, width) {
		lines = append(lines, q.theme.Warn.Render(l))
	}
	lines = append(lines, "")
	for i, l := range text.Wrap(q.line, width-2) {
		sign := "$ "
		if i > 0 {
			sign = "  "
		}
		lines = append(lines, q.theme.Dim.Render(sign+l))
	}
	return append(lines, "", q.answers())
}

const yes, no = "[y] Yes", "[n] No"

// answers returns the line with both answers; the one for enter is marked.
func (q *Question) answers() string {
	mark := func(s string, on bool) string {
		if on {
			return q.theme.Selected.Render(theme.GlyphClosed + " " + s + " ")
		}
		return "  " + s + " "
	}
	return mark(yes, q.yes) + "  " + mark(no, !q.yes)
}

// View implements [panel.Panel]: the box in the middle of its area.
func (q *Question) View() string {
	if q.width <= 0 || q.height <= 0 {
		return ""
	}
	w, h, left, top := q.place()
	body := q.body(max(0, w-frame))
	if h < len(body) { // the answers are seen in any case
		body = append(body[:max(0, h-1):max(0, h-1)], q.answers())
	}
	lines := make([]string, top, q.height)
	pad := strings.Repeat(" ", left+frame/2)
	for _, l := range body {
		lines = append(lines, pad+text.Cut(l, max(0, w-frame)))
	}
	return text.Block(lines, q.width, q.height)
}

// place returns the position of the box.
func (q *Question) place() (w, h, left, top int) {
	w, h = q.Size(q.width, q.height)
	return w, h, (q.width - w) / 2, (q.height - h) / 2
}

// Click implements [panel.Clicker]: on an answer.
func (q *Question) Click(x, y int) (intent.Intent, bool) {
	_, h, left, top := q.place()
	x -= left + frame/2
	if y != top+h-1 || x < 0 {
		return nil, true
	}
	first, second := text.Width(yes)+3, text.Width(no)+3
	switch {
	case x < first:
		return q.answer(true), true
	case x >= first+2 && x < first+2+second:
		return q.answer(false), true
	}
	return nil, true
}

// Wheel implements [panel.Clicker]: there is nothing to scroll.
func (q *Question) Wheel(int) {}
