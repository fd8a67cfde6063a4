package faults

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// program is what the command lines that are shown begin with.
const program = "vsphere-sandbox"

// Form asks for the targets and the parameters of a fault, and shows the command line that injects it so. Make it with
// [NewForm].
type Form struct {
	// Sandbox is the name that command lines give the sandbox; "" for the one that needs none.
	Sandbox string
	// ReadOnly says that nothing can be injected: it is for planning alone, and offers no more.
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

// plan is what the sandbox answered when it was asked what an injection would do.
type plan struct {
	asked bool // about what is written now
	there bool // it has answered
	lease api.Lease
	err   error
}

// NewForm returns the form of a fault. A subject that is of the kind that the fault happens to is its target, as is the VM
// of a node and the node of a VM; the zero value leaves that open.
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

// Typing implements [panel.Typist]: letters are always for a field.
func (f *Form) Typing() bool { return true }

// Paste writes what was pasted into the field with the cursor.
func (f *Form) Paste(s string) {
	if len(f.fields) > 0 {
		f.fields[f.at].typed(s)
		f.edited()
	}
}

// SetPlan is told what the sandbox answered to the [intent.Plan] of a number, in whatever order. An answer that is not about
// what is written any more is dropped.
func (f *Form) SetPlan(ask int, l api.Lease, err error) {
	if ask == f.asks && f.plan.asked {
		f.plan.there, f.plan.lease, f.plan.err = true, l, err
	}
}

// edited is for when what is asked for may have changed: what was planned is no plan of it.
func (f *Form) edited() {
	f.fields[f.at].touched = true
	f.plan = plan{}
}

// Handle implements [panel.Panel]. It takes every key, as all may be meant for a field, but ctrl+c.
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
		before := string(f.fields[f.at].value)
		f.fields[f.at].handle(k)
		if string(f.fields[f.at].value) != before {
			f.edited()
		}
	}
	return nil, true
}

// move goes to another field; what was left behind may be judged from now on.
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

// ready goes to the first field that is not as it has to be, and tells whether there is none.
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

// ask asks for a plan; once more, for another draw.
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
		key.NewBinding(key.WithKeys("ctrl+d"), key.WithHelp("ctrl+d", "plan: tell what would be done; again, draw anew")),
		key.NewBinding(key.WithKeys("ctrl+s"), key.WithHelp("ctrl+s", "inject")),
		key.NewBinding(key.WithKeys("enter"), key.WithHelp("enter", enter)),
		key.NewBinding(key.WithKeys("esc"), key.WithHelp("esc", "close")),
	}
}
