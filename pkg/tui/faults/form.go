package faults

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// program begins the command lines.
const program = "vsphere-sandbox"

// Form asks for the targets and the parameters of a fault, and shows its command line. Make it with [NewForm].
type Form struct {
	// Sandbox is the name of the sandbox in command lines; "" for the default sandbox.
	Sandbox string
	// ReadOnly restricts the form to plans.
	ReadOnly bool

	kind  api.FaultKind
	known known
	theme *theme.Theme

	width, height int

	fields []*field
	at     int // the field that is written in

	plan plan
	asks int // how often a plan was asked for
}

// plan is the sandbox's answer to a plan.
type plan struct {
	asked bool // about what is written now
	there bool // it has answered
	lease api.Lease
	err   error
}

// NewForm returns the form of a fault. The subject becomes its target if it has the right kind, as does the VM of a node and the
// node of a VM; the zero value leaves the target open.
func NewForm(kind api.FaultKind, subject api.Subject, state *fold.State) *Form {
	f := &Form{kind: kind, known: known{state: state}, theme: theme.Mono()}
	f.fields = f.make(subject)
	for i, one := range f.fields { // what has to be said yet comes first
		if one.wrong() != "" {
			f.at = i
			break
		}
	}
	return f
}

// SetSize implements [panel.Panel].
func (f *Form) SetSize(width, height int) { f.width, f.height = width, height }

// SetTheme implements [panel.Panel].
func (f *Form) SetTheme(t *theme.Theme) { f.theme = t }

// SetState implements [panel.Panel].
func (f *Form) SetState(s *fold.State) {
	if f.known.state != s {
		f.known = known{state: s}
	}
}

// Typing implements [panel.Typist]: all letters go to a field.
func (f *Form) Typing() bool { return true }

// Paste inserts pasted text into the field with the cursor.
func (f *Form) Paste(s string) {
	if len(f.fields) > 0 {
		f.fields[f.at].typed(s)
		f.edited()
	}
}

// SetPlan takes the sandbox's answer to the [intent.Plan] with a number, in any order. It drops an answer about values that have
// changed since.
func (f *Form) SetPlan(ask int, l api.Lease, err error) {
	if ask == f.asks && f.plan.asked {
		f.plan.there, f.plan.lease, f.plan.err = true, l, err
	}
}

// edited drops the plan after a change of the request.
func (f *Form) edited() {
	f.fields[f.at].touched = true
	f.plan = plan{}
}

// Handle implements [panel.Panel]. It takes every key except ctrl+c, as any may be meant for a field.
func (f *Form) Handle(k tea.KeyPressMsg) (intent.Intent, bool) {
	switch k.String() {
	case "ctrl+c":
		return nil, false
	case "esc":
		return intent.Back{}, true
	case "ctrl+s":
		return f.inject()
	case "ctrl+d":
		return f.ask()
	case "enter":
		if f.at >= len(f.fields)-1 {
			return f.inject()
		}
		f.move(1)
	case "tab", "down", "ctrl+n":
		f.move(1)
	case "shift+tab", "up", "ctrl+p":
		f.move(-1)
	case "pgdown":
		f.move(len(f.fields))
	case "pgup":
		f.move(-len(f.fields))
	default:
		if len(f.fields) == 0 {
			break
		}
		before := f.fields[f.at].String()
		f.fields[f.at].handle(k)
		if f.fields[f.at].String() != before {
			f.edited()
		}
	}
	return nil, true
}

// move goes to another field; the errors of the one before are shown from now on.
func (f *Form) move(by int) {
	if len(f.fields) == 0 {
		return
	}
	f.fields[f.at].touched = true
	if to := f.at + by; by == 1 || by == -1 {
		f.at = (to + len(f.fields)) % len(f.fields)
	} else {
		f.at = min(max(0, to), len(f.fields)-1)
	}
}

// ready goes to the first invalid field, and otherwise returns the intent.
func (f *Form) ready() (intent.Intent, bool) {
	for i, one := range f.fields {
		if wrong := one.wrong(); wrong != "" {
			f.at, one.touched = i, true
			return intent.Say{Text: one.label + ": " + wrong, Bad: true}, false
		}
	}
	return nil, true
}

func (f *Form) inject() (intent.Intent, bool) {
	if say, ok := f.ready(); !ok {
		return say, true
	}
	return intent.Inject{InjectRequest: f.request()}, true
}

// ask requests a plan; a repeated request chooses other targets.
func (f *Form) ask() (intent.Intent, bool) {
	f.plan = plan{}
	if say, ok := f.ready(); !ok {
		return say, true
	}
	r := f.request()
	r.DryRun = true
	f.plan = plan{asked: true}
	f.asks++
	return intent.Plan{InjectRequest: r, Ask: f.asks}, true
}

// Writes implements [panel.Writer]. A plan changes nothing.
func (f *Form) Writes() []string { return []string{"ctrl+s"} }

// Bindings implements [panel.Panel].
func (f *Form) Bindings() []key.Binding {
	enter := "next field; in the last, inject"
	if f.ReadOnly {
		enter = "next field"
	}
	return []key.Binding{
		key.NewBinding(key.WithKeys("tab", "down", "ctrl+n"), key.WithHelp("tab/↓", "next field")),
		key.NewBinding(key.WithKeys("shift+tab", "up", "ctrl+p"), key.WithHelp("shift+tab/↑", "previous field")),
		key.NewBinding(key.WithKeys("left", "right"), key.WithHelp("←→", "other choice, or move in the text; → takes a suggestion")),
		key.NewBinding(key.WithKeys("ctrl+d"), key.WithHelp("ctrl+d", "plan: show what would be done; again: choose other targets")),
		key.NewBinding(key.WithKeys("ctrl+s"), key.WithHelp("ctrl+s", "inject")),
		key.NewBinding(key.WithKeys("enter"), key.WithHelp("enter", enter)),
		key.NewBinding(key.WithKeys("esc"), key.WithHelp("esc", "close")),
	}
}

// The labels of the fields that all faults have, where they apply.
const (
	labelTargets = "target"
	labelMode    = "mode"
	labelFor     = "for"
)

// make makes the fields: targets, how many, how long, and the parameters.
func (f *Form) make(subject api.Subject) []*field {
	var all []*field
	kind := object(f.kind)
	if kind != nothing {
		targets := &field{
			label: labelTargets, empty: f.example(kind),
			help:    "names, * and ? allowed; zone=… host=… role=… labels=…; or all",
			check:   f.badTargets,
			doubt:   func(value string) string { return f.known.stranger(value, kind) },
			suggest: func(value string) string { return f.known.continues(value, kind) },
		}
		for _, s := range related(subject, f.known.state) {
			if s.Kind == kind && s.Name != "" {
				targets.set(quoted(f.known.called(s)))
				break
			}
		}
		all = append(all, targets, &field{
			label: labelMode, empty: "all that are named",
			help: "how many of them: one, all, a number, a percentage; which ones is drawn", choices: []string{"", "one", "all", "50%"}, check: badMode,
		})
	}
	if !f.kind.Momentary {
		all = append(all, &field{
			label: labelFor, empty: "until it is healed", help: "how long until it heals automatically: 30s, 5m", check: badFor,
		})
	}
	for _, p := range f.kind.Params {
		all = append(all, f.param(p))
	}
	return all // nothing, for a fault of the whole sandbox that is over at once and has no parameters
}

// example returns an example of targets.
func (f *Form) example(kind string) string {
	const most = 3
	all := f.known.names(kind)
	if len(all) == 0 {
		return "a " + f.kind.Object + ", by name"
	}
	text := "such as " + strings.Join(all[:min(most, len(all))], ", ")
	if len(all) > most {
		text += " …"
	}
	return text
}

// badTargets checks the targets. They may be left out if there is only one object, or if the mode chooses some.
func (f *Form) badTargets(value string) string {
	if value != "" {
		return badTargets(value)
	}
	if n := len(f.known.things(object(f.kind))); n > 1 && f.value(labelMode) == "" {
		return fmt.Sprintf("say which of %d: names, zone=…, or all", n)
	}
	return ""
}

func (f *Form) param(p api.FaultParam) *field {
	one := &field{label: p.Name, help: p.Short, check: func(value string) string { return badParam(p, value) }}
	switch {
	case p.Required:
		one.empty = "required"
	case p.Default != "":
		one.empty = "default " + p.Default
	default:
		one.empty = "none"
	}
	one.choices = p.Choices
	if p.Type == "bool" {
		one.choices = []string{"true", "false"}
	}
	if len(one.choices) > 0 && !p.Required {
		one.choices = append([]string{""}, slices.DeleteFunc(slices.Clone(one.choices), func(c string) bool { return c == p.Default })...)
	}
	if len(one.choices) == 0 {
		one.suggest = func(value string) string {
			if value == "" {
				return ""
			}
			return begins(f.known.names(p.Name), value) // of a parameter that names a host, a VM, a zone
		}
	}
	return one
}

// value returns the value of a field, or "".
func (f *Form) value(label string) string {
	for i, one := range f.fields {
		if one.label == label && i < len(f.fields)-len(f.kind.Params) {
			return one.text()
		}
	}
	return ""
}

// request returns the request of the form, without invalid values.
func (f *Form) request() api.InjectRequest {
	r := api.InjectRequest{Fault: f.kind.Name, Mode: f.value(labelMode)}
	on, all, err := selector(f.value(labelTargets))
	if err == nil {
		r.On = on
	}
	if all && r.Mode == "" {
		r.Mode = everything
	}
	if d, err := time.ParseDuration(f.value(labelFor)); err == nil && d > 0 {
		r.For = api.Duration(d)
	}
	for i, p := range f.kind.Params {
		value := f.fields[len(f.fields)-len(f.kind.Params)+i].text()
		if value == "" || value == p.Default {
			continue
		}
		if r.Params == nil {
			r.Params = map[string]string{}
		}
		r.Params[p.Name] = value
	}
	if f.plan.there && f.plan.err == nil {
		r.Seed = f.plan.lease.Seed // what was planned is what happens
	}
	return r
}

// sentence capitalizes a text, and ends it with a period.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(first)) + s[size:]
	if !strings.ContainsAny(s[len(s)-1:], ".!?") {
		s += "."
	}
	return s
}

const (
	formWidth = 84
	// around is the number of lines besides the fields: title, help, a plan of a few targets, command line, hints.
	around = 14
)

// Size implements [panel.Popup].
func (f *Form) Size(width, height int) (int, int) {
	return min(formWidth, width), min(len(f.fields)+around, height)
}

// View implements [panel.Panel].
func (f *Form) View() string {
	if f.width <= 0 || f.height <= 0 {
		return ""
	}
	head, foot := f.head(), f.foot()
	room := f.height - len(head) - len(foot)
	fields, focus := f.rows()
	if plan := f.planned(); len(plan) > 0 {
		n := max(0, min(len(plan), max(room-len(fields)-1, room/2)))
		if n < len(plan) && n > 0 {
			plan = append(plan[:n-1:n-1], f.theme.Dim.Render(fmt.Sprintf("  and %d more lines", len(plan)-n+1)))
		}
		fields, focus = window(fields, focus, room-n-1)
		fields = append(fields, "")
		fields = append(fields, plan[:n]...)
	}
	fields, _ = window(fields, focus, room)
	lines := append(head, fields...)
	for len(lines)+len(foot) < f.height {
		lines = append(lines, "")
	}
	return text.Block(append(lines, foot...), f.width, f.height)
}

// window returns the visible part of some lines, around one of them and the next.
func window(lines []string, focus, height int) ([]string, int) {
	height = max(0, height)
	if len(lines) <= height {
		return lines, focus
	}
	from := min(max(0, focus+2-height), len(lines)-height)
	from = min(from, focus)
	return lines[from : from+height], focus - from
}

func (f *Form) head() []string {
	title := f.theme.Title.Render("Inject " + text.Clean(f.kind.Name))
	switch {
	case f.height < 8:
		return []string{title}
	case f.height < 13:
		return []string{title, f.theme.Dim.Render(text.Clean(sentence(f.kind.Short)))}
	}
	return []string{title, f.theme.Dim.Render(text.Clean(sentence(f.kind.Short))), ""}
}

// rows returns the fields, with a line about the one with the cursor, and the line number of that field.
func (f *Form) rows() (lines []string, focus int) {
	if len(f.fields) == 0 {
		return []string{f.theme.Dim.Render("There is nothing to ask: it happens to the whole sandbox, and is over at once.")}, 0
	}
	label := 0
	for _, one := range f.fields {
		label = max(label, text.Width(one.label))
	}
	label = min(label, 24, max(6, f.width/3))
	for i, one := range f.fields {
		mark, style := "  ", f.theme.Text
		wrong := ""
		if one.touched {
			wrong = one.wrong()
		}
		if wrong != "" {
			mark = f.theme.Bad.Render(theme.GlyphBad) + " "
		}
		if i == f.at {
			focus, style = len(lines), f.theme.Title
			if wrong == "" {
				mark = f.theme.Key.Render(theme.GlyphClosed) + " "
			}
		}
		lines = append(lines, mark+style.Render(text.Fit(one.label, label))+"  "+one.view(f.theme, f.width-label-4, i == f.at))
		if i == f.at {
			lines = append(lines, strings.Repeat(" ", label+4)+f.about(one, wrong))
		}
	}
	return lines, focus
}

// about describes the field with the cursor.
func (f *Form) about(one *field, wrong string) string {
	if wrong != "" {
		return f.theme.Bad.Render(text.Clean(wrong))
	}
	if one.doubt != nil {
		if doubt := one.doubt(one.text()); doubt != "" {
			return f.theme.Warn.Render(text.Clean(theme.GlyphUnknown + " " + doubt))
		}
	}
	return f.theme.Dim.Render(text.Clean(one.help))
}

// planned returns the sandbox's answer to the plan.
func (f *Form) planned() []string {
	switch {
	case !f.plan.asked:
		return nil
	case !f.plan.there:
		return []string{f.theme.Warn.Render(theme.GlyphWarn + " planning…")}
	case f.plan.err != nil:
		return f.refused()
	}
	l := f.plan.lease
	lines := []string{f.theme.Good.Render(theme.GlyphGood+" plan") + f.theme.Dim.Render(fmt.Sprintf("  %s, seed %d; nothing is done yet", shorten.Count(len(l.Targets), "target"), l.Seed))}
	for _, t := range l.Targets {
		lines = append(lines, "  "+text.Clean(t.Kind+" "+target(t)+": "+t.Does))
	}
	return lines
}

func (f *Form) refused() (lines []string) {
	words := f.plan.err.Error()
	var refusal *api.Error
	if errors.As(f.plan.err, &refusal) && refusal.Try != "" {
		words += " (try: " + refusal.Try + ")"
	}
	for i, l := range text.Words(text.Clean(words), f.width-2) {
		mark := "  "
		if i == 0 {
			mark = theme.GlyphBad + " "
		}
		lines = append(lines, f.theme.Bad.Render(mark+l))
	}
	return lines
}

// foot returns the equivalent command line, and the keys.
func (f *Form) foot() []string {
	const most = 3
	line := text.Clean(intent.Line(intent.Inject{InjectRequest: f.request()}, program, f.Sandbox))
	lines := folded("$ "+line, f.width)
	if keep := min(most, max(1, f.height/5)); len(lines) > keep {
		lines = append(lines[:keep-1:keep-1], text.Cut(strings.Join(lines[keep-1:], ""), f.width))
	}
	for i := range lines {
		lines[i] = f.theme.Text.Render(lines[i])
	}
	if f.height < 6 {
		return lines
	}
	keys := []string{"ctrl+d", "plan", "ctrl+s", "inject", "tab", "next field", "esc", "close"}
	if f.ReadOnly {
		keys = slices.Delete(keys, 2, 4)
	}
	return append(lines, hints(f.theme, f.width, keys...))
}

// folded breaks a command line at spaces only: flags and names have hyphens.
func folded(line string, width int) []string {
	var lines []string
	at := ""
	for i, word := range strings.Split(line, " ") {
		switch {
		case i == 0:
			at = word
		case text.Width(at)+1+text.Width(word) > width && text.Width(at) > 1: // "$" does not stand alone
			lines = append(lines, at)
			at = "  " + word
		default:
			at += " " + word
		}
	}
	return append(lines, at)
}

// hints returns keys with their effects, as many as there is room for.
func hints(th *theme.Theme, width int, pairs ...string) string {
	line, used := "", 0
	for i := 0; i+1 < len(pairs); i += 2 {
		n := text.Width(pairs[i]) + 1 + text.Width(pairs[i+1]) + 2
		if used+n > width {
			break
		}
		line += th.Key.Render(pairs[i]) + " " + th.Dim.Render(pairs[i+1]) + "  "
		used += n
	}
	return line
}

// target names a target of a lease.
func target(t api.LeaseTarget) string {
	if t.VCenter == "" || t.VCenter == t.Name {
		return t.Name
	}
	return t.VCenter + "/" + t.Name
}
