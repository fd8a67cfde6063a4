package pane

import (
	"slices"
	"strconv"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
)

// Why tells how a thing has come to be as it is: questions, answers, what they rest on, and the chain of events. Make it
// with [NewWhy]. The cursor goes over its lines; on one that is about an event, enter shows the chain of that.
type Why struct {
	pane
	subject api.Subject
	chain   key.Binding

	explanation *api.Explanation
	err         error
	age         age
	built       int // the width that the lines are made for
}

var (
	_ panel.Panel    = (*Why)(nil)
	_ panel.Filterer = (*Why)(nil)
	_ panel.Selector = (*Why)(nil)
	_ panel.Clicker  = (*Why)(nil)
)

// NewWhy explains a thing that is being asked about; [Why.SetExplanation] tells the answer.
func NewWhy(s api.Subject) *Why {
	w := &Why{pane: newPane("Why " + called(s)), subject: s, chain: bind("enter", "chain of the event", "enter")}
	w.cursor = 0
	w.viewer.set(loading())
	return w
}

// SetExplanation tells the answer, or why there is none. An answer that there was stays, then.
func (w *Why) SetExplanation(e api.Explanation, err error) {
	if w.age.told(err) {
		w.SetSize(w.width, w.height)
		return
	}
	w.explanation, w.err, w.built = &e, err, -1
	if err != nil {
		w.explanation = nil
	}
	w.SetSize(w.width, w.height)
}

// SetState implements [panel.Panel]: an answer is shown until there is a newer one.
func (w *Why) SetState(s *fold.State) { w.age.pass(s) }

// Subject implements [panel.Selector].
func (w *Why) Subject() (api.Subject, bool) { return w.subject, true }

// SetSize implements [panel.Panel].
func (w *Why) SetSize(width, height int) {
	w.pane.SetSize(width, height)
	w.viewer.size(width, height-1-len(w.age.lines(w.theme, width)))
	w.build()
}

// build makes the lines for the width. The filter is looked for in them anew.
func (w *Why) build() {
	width := max(20, w.width)
	if w.built == width || w.explanation == nil && w.err == nil {
		return
	}
	w.built = width
	seq := w.seq()
	if w.err != nil {
		w.viewer.set(failure(w.err, width))
		return
	}
	w.viewer.set(explained(w.explanation, w.age.now.Location(), width))
	if i := slices.IndexFunc(w.lines, func(l line) bool { return seq != 0 && l.seq == seq }); i >= 0 {
		w.cursor = i // as it was, however the lines are wrapped now
	}
	w.show()
}

// Bindings implements [panel.Panel].
func (w *Why) Bindings() []key.Binding {
	chain := w.chain
	chain.SetEnabled(w.seq() != 0)
	return append([]key.Binding{chain}, w.keys.live(&w.viewer)...)
}

// seq is the event that the line with the cursor is about.
func (w *Why) seq() uint64 {
	if w.cursor < len(w.lines) {
		return w.lines[w.cursor].seq
	}
	return 0
}

// Handle implements [panel.Panel].
func (w *Why) Handle(k tea.KeyPressMsg) (intent.Intent, bool) {
	if key.Matches(k, w.chain) {
		if seq := w.seq(); seq != 0 {
			return intent.Chain{Seq: seq}, true
		}
		return nil, true
	}
	return nil, w.keys.handle(&w.viewer, k)
}

// Click implements [panel.Clicker]: it moves the cursor; on the line that has it, it is enter.
func (w *Why) Click(_, y int) (intent.Intent, bool) {
	heads := 1 + len(w.age.lines(w.theme, w.width))
	i := w.top + y - heads
	if y < heads || i >= w.count() {
		return nil, true
	}
	if line := w.lineAt(i); line != w.cursor {
		w.cursor = line
	} else if seq := w.seq(); seq != 0 {
		return intent.Chain{Seq: seq}, true
	}
	return nil, true
}

// View implements [panel.Panel].
func (w *Why) View() string {
	event := ""
	if seq := w.seq(); seq != 0 {
		event = "enter: event " + strconv.FormatUint(seq, 10)
	}
	return w.frame(aside(event, w.age.String(), w.where()), append(w.age.lines(w.theme, w.width), w.viewer.view()...))
}

func itoa(n int) string { return strconv.Itoa(n) }
