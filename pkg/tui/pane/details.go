package pane

import (
	"errors"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// Details shows an object on both planes: the Kubernetes object beside its vSphere object if there is room, else one of them.
// Make it with [NewDetails].
type Details struct {
	subject       api.Subject
	title         string
	theme         *theme.Theme
	width, height int
	keys          keys
	last, next    key.Binding
	age           age

	parts  []*part
	focus  int // the part that keys are for
	filter string
}

// part is one object.
type part struct {
	viewer
	title string
}

var (
	_ panel.Panel    = (*Details)(nil)
	_ panel.Filterer = (*Details)(nil)
	_ panel.Selector = (*Details)(nil)
	_ panel.Clicker  = (*Details)(nil)
)

// NewDetails shows an object that is being read; [Details.SetInspection] sets the result.
func NewDetails(s api.Subject) *Details {
	d := &Details{
		subject: s, title: text.Clean("Details of " + called(s)), theme: theme.Mono(), keys: newKeys(),
		last: bind("[", "object before", "["), next: bind("]", "next object", "]"),
	}
	d.put([]*part{{viewer: newViewer()}})
	d.parts[0].set(loading())
	return d
}

// SetInspection sets the result of reading, or its error. The scroll position stays; after an error so does the text, below the
// error.
func (d *Details) SetInspection(i api.Inspection, err error) {
	if err == nil && len(i.Parts) == 0 {
		err = errors.New("there is nothing to be seen of it")
	}
	if d.age.asked(err) {
		d.SetSize(d.width, d.height)
		return
	}
	if err != nil {
		p := &part{viewer: newViewer()}
		d.put([]*part{p})
		p.set(failure(err, max(20, d.width)))
		return
	}
	parts := make([]*part, len(i.Parts))
	for n, one := range i.Parts {
		if n < len(d.parts) && d.parts[n].title == text.Clean(one.Title) {
			parts[n] = d.parts[n]
		} else {
			parts[n] = &part{viewer: newViewer(), title: text.Clean(one.Title)}
		}
	}
	d.put(parts)
	for n, one := range i.Parts {
		if one.Error != "" {
			parts[n].set(failure(errors.New(one.Error), max(20, parts[n].width)))
		} else {
			parts[n].set(yamlLines(one.YAML))
		}
		if d.filter != "" {
			parts[n].find(d.filter)
		}
	}
}

// put replaces the parts.
func (d *Details) put(parts []*part) {
	d.parts, d.focus = parts, min(d.focus, len(parts)-1)
	d.SetTheme(d.theme)
	d.SetSize(d.width, d.height)
}

// Subject implements [panel.Selector].
func (d *Details) Subject() (api.Subject, bool) { return d.subject, true }

// SetState implements [panel.Panel]: the content stays until it is read again.
func (d *Details) SetState(s *fold.State) { d.age.pass(s) }

// SetTheme implements [panel.Panel].
func (d *Details) SetTheme(t *theme.Theme) {
	d.theme = t
	for _, p := range d.parts {
		p.theme = t
	}
}

// wideEnough is the minimum width for two objects side by side.
const wideEnough = 140

// seen returns the visible parts: two if there is room.
func (d *Details) seen() (from, to int) {
	if d.width < wideEnough || len(d.parts) < 2 {
		return d.focus, d.focus + 1
	}
	from = min(d.focus, len(d.parts)-2)
	return from, from + 2
}

// column returns the width of a part; three cells are between two.
func (d *Details) column() int {
	if from, to := d.seen(); to-from == 2 {
		return (d.width - between) / 2
	}
	return d.width
}

// heads returns the number of lines above the objects.
func (d *Details) heads() int {
	n := 2
	if len(d.parts) == 1 && d.parts[0].title == "" {
		n = 1
	}
	return n + len(d.age.lines(d.theme, d.width))
}

// SetSize implements [panel.Panel].
func (d *Details) SetSize(width, height int) {
	d.width, d.height = width, height
	for _, p := range d.parts {
		p.size(d.column(), height-d.heads())
	}
}

// SetFilter implements [panel.Filterer]: it marks the matches, and goes to one.
func (d *Details) SetFilter(filter string) {
	d.filter = filter
	for _, p := range d.parts {
		p.find(filter)
	}
}

// Bindings implements [panel.Panel].
func (d *Details) Bindings() []key.Binding {
	last, next := d.last, d.next
	last.SetEnabled(len(d.parts) > 1)
	next.SetEnabled(len(d.parts) > 1)
	return append([]key.Binding{last, next}, d.keys.live(&d.parts[d.focus].viewer)...)
}

// Handle implements [panel.Panel].
func (d *Details) Handle(k tea.KeyPressMsg) (intent.Intent, bool) {
	n := len(d.parts)
	switch {
	case key.Matches(k, d.last):
		d.focus = (d.focus + n - 1) % n
	case key.Matches(k, d.next):
		d.focus = (d.focus + 1) % n
	default:
		return nil, d.keys.handle(&d.parts[d.focus].viewer, k)
	}
	return nil, true
}

// Click implements [panel.Clicker]: the clicked object gets the keys.
func (d *Details) Click(x, _ int) (intent.Intent, bool) {
	if from, to := d.seen(); to-from == 2 {
		d.focus = from
		if x > d.column() {
			d.focus++
		}
	}
	return nil, true
}

// Wheel implements [panel.Clicker].
func (d *Details) Wheel(lines int) { d.parts[d.focus].move(lines) }

// View implements [panel.Panel].
func (d *Details) View() string {
	if d.width <= 0 || d.height <= 0 {
		return ""
	}
	at := d.parts[d.focus]
	head := pane{viewer: at.viewer, title: d.title, width: d.width}
	lines := append([]string{head.head(aside(d.age.String(), at.where()))}, d.age.lines(d.theme, d.width)...)
	from, to := d.seen()
	column := d.column()
	line := d.theme.Border.Render(" │ ")
	join := func(cells []string) string {
		for i := range cells {
			cells[i] = text.Fit(cells[i], column)
		}
		return strings.Join(cells, line)
	}
	if len(lines) < d.heads() {
		var heads []string
		for i := from; i < to; i++ {
			heads = append(heads, d.heading(i, column))
		}
		lines = append(lines, join(heads))
	}
	var bodies [][]string
	for _, p := range d.parts[from:to] {
		bodies = append(bodies, p.view())
	}
	for row := range max(0, d.height-d.heads()) {
		cells := make([]string, len(bodies))
		for i, b := range bodies {
			if row < len(b) {
				cells[i] = b[row]
			}
		}
		lines = append(lines, join(cells))
	}
	return text.Block(lines, d.width, d.height)
}

// heading returns the line above an object: the one with the keys is marked, and mentions the other.
func (d *Details) heading(i, width int) string {
	n := len(d.parts)
	from, to := d.seen()
	said := d.parts[i].title
	if n > to-from {
		said += " (" + itoa(i+1) + " of " + itoa(n) + ")"
	}
	if i != d.focus {
		return d.theme.Tab.Render(text.Fit("  "+said, width))
	}
	if n > 1 {
		said = theme.GlyphClosed + " " + said
	}
	return d.theme.TabOn.Render(text.Fit(said, width))
}

// age is when something was read, and the error of the last attempt.
type age struct {
	now, read time.Time
	failed    error
}

// pass sets the current time.
func (a *age) pass(s *fold.State) { a.now = s.Now() }

// asked records that the object was read now, or that this failed. It reports whether the earlier result is kept: that of a
// deleted object is still useful.
func (a *age) asked(err error) (kept bool) {
	if a.failed = err; err != nil && !a.read.IsZero() {
		return true
	}
	if a.failed = nil; err == nil {
		a.read = a.now
	}
	return false
}

// String returns the text beside the title: "as of 15:04:05".
func (a *age) String() string {
	if a.read.IsZero() {
		return ""
	}
	return "as of " + a.read.Format("15:04:05")
}

// lines describes why it is old.
func (a *age) lines(t *theme.Theme, width int) []string {
	if a.failed == nil {
		return nil
	}
	l := of(theme.GlyphBad+" this is "+text.Ago(a.now.Sub(a.read))+" old: ", bad)
	l.add(a.failed.Error(), bad)
	var lines []string
	for _, l := range l.wrapped(max(20, width), 2) {
		lines = append(lines, l.render(t, 0, len(l.text), nil, t.Bad, nil))
	}
	return lines
}

// aside joins the texts beside a title.
func aside(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "  ")
}

// yamlLines returns the lines of a YAML document, with styled keys and comments.
func yamlLines(doc string) []line {
	var lines []line
	inside := -1 // the indentation of the key whose block of text it is
	for s := range strings.SplitSeq(strings.TrimRight(doc, "\n"), "\n") {
		trimmed := strings.TrimLeft(s, " ")
		indent := len(s) - len(trimmed)
		if inside >= 0 && (trimmed == "" || indent > inside) {
			lines = append(lines, of(s, plain))
			continue
		}
		inside = -1
		if strings.HasPrefix(trimmed, "#") {
			lines = append(lines, of(s, dim))
			continue
		}
		var l line
		rest := trimmed
		for strings.HasPrefix(rest, "- ") {
			rest = rest[2:]
		}
		l.add(s[:len(s)-len(rest)], dim)
		if end := keyEnd(rest); end > 0 {
			l.add(rest[:end], field)
			l.add(":", dim)
			value := rest[end+1:]
			l.add(value, plain)
			if v := strings.TrimSpace(value); strings.HasPrefix(v, "|") || strings.HasPrefix(v, ">") {
				inside = indent
			}
		} else {
			l.add(rest, plain)
		}
		lines = append(lines, l)
	}
	return lines
}

// keyEnd returns the end of the key at the beginning of a line, or 0.
func keyEnd(s string) int {
	if s == "" {
		return 0
	}
	from := 0
	if q := s[0]; q == '"' || q == '\'' {
		i := strings.IndexByte(s[1:], q)
		if i < 0 {
			return 0
		}
		from = i + 2
	} else if s[0] == '{' || s[0] == '[' {
		return 0
	}
	i := strings.IndexByte(s[from:], ':')
	for i >= 0 {
		end := from + i
		if end+1 == len(s) || s[end+1] == ' ' {
			if s[0] == '"' || s[0] == '\'' {
				if i > 0 {
					return 0 // a quoted text continues
				}
			}
			return end
		}
		next := strings.IndexByte(s[end+1:], ':')
		if next < 0 {
			return 0
		}
		i += 1 + next
	}
	return 0
}
