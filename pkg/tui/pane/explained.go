package pane

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// explained returns the lines of an explanation, with times in a time zone.
func explained(e *api.Explanation, in *time.Location, width int) []line {
	lines := of(e.Summary, title).wrapped(width, 2)
	for _, q := range e.Questions {
		lines = append(append(lines, line{}), question(q, width)...)
	}
	if len(e.Events) > 0 {
		lines = append(lines, line{}, of("Events", title))
		lines = append(lines, chain(e.Events, in, width)...)
	}
	return lines
}

// question formats a question, its answer, the evidence, and what to try.
func question(q api.Question, width int) []line {
	glyph, as := level(q.Level)
	l := of(glyph+" ", as)
	l.add(q.Ask, title)
	lines := l.wrapped(width, 2)
	l = line{}
	l.pad(2)
	l.add(q.Answer, as)
	lines = append(lines, l.wrapped(width, 2)...)
	for _, e := range q.Evidence {
		lines = append(lines, evidence(e, width)...)
	}
	if q.Try != "" {
		lines = append(lines, try(q.Try, 2, width)...)
	}
	return lines
}

func level(l event.Level) (glyph string, as look) {
	switch l {
	case event.Error:
		return theme.GlyphBad, bad
	case event.Warning:
		return theme.GlyphWarn, warn
	}
	return theme.GlyphGood, good
}

// evidence formats one item of evidence: the verdict as a glyph and a word, the object, the value, the source.
func evidence(e api.Evidence, width int) []line {
	const indent, verdicts = 4, 11
	l := line{seq: e.Event}
	l.pad(indent)
	switch e.Verdict {
	case "ok":
		l.add("✓ ok", good)
	case "":
		l.add("· ", dim)
	case "unknown":
		l.add(theme.GlyphUnknown+" unknown", warn)
	default:
		l.add(theme.GlyphBad+" "+e.Verdict, bad)
	}
	l.pad(indent + verdicts)
	l.add(e.What, plain)
	if e.Found != "" {
		l.add(": ", dim)
		l.add(e.Found, field)
	}
	if e.Source != "" {
		l.add("  "+e.Source, dim)
	}
	if e.Event != 0 {
		l.add("  #"+strconv.FormatUint(e.Event, 10), link)
	}
	return l.wrapped(width, indent+verdicts)
}

// chain formats events with the latency from their causes.
func chain(events []event.Event, in *time.Location, width int) []line {
	at := map[uint64]time.Time{}
	depth := map[uint64]int{}
	number, took := 0, 0
	hops := make([]string, len(events))
	for i, e := range events {
		at[e.Seq] = e.Time
		number = max(number, len(strconv.FormatUint(e.Seq, 10))+1)
		if cause, ok := at[e.Cause]; ok && e.Cause != 0 {
			hops[i] = "+" + text.Took(e.Time.Sub(cause))
			depth[e.Seq] = min(depth[e.Cause]+1, 8)
		}
		took = max(took, text.Width(hops[i]))
	}
	var lines []line
	for i, e := range events {
		l := line{seq: e.Seq}
		l.pad(2)
		l.add(e.Time.In(in).Format("15:04:05.000"), dim)
		l.add(text.Right(hops[i], took+1)+" ", plain)
		l.add(text.Right("#"+strconv.FormatUint(e.Seq, 10), number)+" ", link)
		if d := depth[e.Seq]; d > 0 {
			l.add(strings.Repeat("  ", d-1)+theme.GlyphCause+" ", dim)
		}
		from := l.width
		l.add(object(e.Object), plane(e.Plane))
		as := plain
		switch e.Level {
		case event.Warning:
			as = warn
		case event.Error:
			as = bad
		}
		l.add(" "+e.Message, as)
		lines = append(lines, l.wrapped(width, from)...)
	}
	return lines
}

func plane(p event.Plane) look {
	switch p {
	case event.PlaneVSphere:
		return vsphere
	case event.PlaneKubernetes:
		return kube
	}
	return sandbox
}

// object formats the object of an event: "VM us/worker-1".
func object(o event.Object) string {
	name := o.Name
	if o.VCenter != "" && o.VCenter != o.Name {
		name = o.VCenter + "/" + name
	}
	return strings.TrimSpace(o.Kind + " " + name)
}

// Why explains the state of an object: questions, answers, their evidence, and the chain of events. Make it with [NewWhy]. The
// cursor moves over its lines; on a line about an event, enter shows the event's chain.
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

// NewWhy explains an object; [Why.SetExplanation] sets the answer.
func NewWhy(s api.Subject) *Why {
	w := &Why{pane: newPane("Why " + called(s)), subject: s, chain: bind("enter", "chain of the event", "enter")}
	w.cursor = 0
	w.viewer.set(loading())
	return w
}

// SetExplanation sets the answer, or its error. An earlier answer stays after an error.
func (w *Why) SetExplanation(e api.Explanation, err error) {
	if w.age.asked(err) {
		w.SetSize(w.width, w.height)
		return
	}
	w.explanation, w.err, w.built = &e, err, -1
	if err != nil {
		w.explanation = nil
	}
	w.SetSize(w.width, w.height)
}

// SetState implements [panel.Panel]: an answer stays until there is a newer one.
func (w *Why) SetState(s *fold.State) { w.age.pass(s) }

// Subject implements [panel.Selector].
func (w *Why) Subject() (api.Subject, bool) { return w.subject, true }

// SetSize implements [panel.Panel].
func (w *Why) SetSize(width, height int) {
	w.pane.SetSize(width, height)
	w.viewer.size(width, height-1-len(w.age.lines(w.theme, width)))
	w.build()
}

// build makes the lines for the width, and repeats the search.
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

// seq returns the event of the line with the cursor.
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

// Click implements [panel.Clicker]: it moves the cursor; on the line with the cursor it is enter.
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
