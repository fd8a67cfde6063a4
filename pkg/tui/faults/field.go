package faults

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// field is an editable line of a form.
type field struct {
	label string
	// help describes the value, empty the meaning of an empty one.
	help, empty string
	// choices are the values that ←→ select; "" means no value.
	choices []string
	// check returns what is wrong with a value, or "".
	check func(value string) string
	// doubt returns what may be wrong with a value: only the sandbox knows.
	doubt func(value string) string
	// suggest returns a completion of the value.
	suggest func(value string) string

	text.Edit      // the value
	whole     bool // the value was chosen, not typed: typing replaces it
	touched   bool // show its errors
}

func (f *field) text() string { return strings.TrimSpace(f.String()) }

func (f *field) set(value string) {
	f.Set(value)
	f.whole = value != ""
}

// wrong returns what is wrong with the value.
func (f *field) wrong() string {
	if f.check == nil {
		return ""
	}
	return f.check(f.text())
}

// rest returns the completion of the value if the cursor is at its end.
func (f *field) rest() string {
	if f.suggest == nil || !f.AtEnd() || f.whole {
		return ""
	}
	return f.suggest(f.String())
}

// handle handles the keys that change the value, and reports whether this was one.
func (f *field) handle(k tea.KeyPressMsg) bool {
	name := k.String()
	forward := name == "right" || name == "ctrl+f"
	switch {
	case len(f.choices) > 0 && (forward || name == "left" || name == "ctrl+b"):
		f.cycle(forward)
	case f.AtEnd() && (forward || name == "end" || name == "ctrl+e"):
		f.write(f.rest())
	case f.Key(name):
		f.whole = false
	case k.Text == "":
		return false
	default:
		f.typed(k.Text)
	}
	return true
}

// typed inserts what the user has typed or pasted; it replaces a choice.
func (f *field) typed(s string) {
	if f.whole && len(f.choices) > 0 {
		f.Set("")
	}
	f.write(s)
}

func (f *field) write(s string) {
	f.Insert(text.Clean(s))
	f.whole = false
}

// cycle selects the next or the previous choice.
func (f *field) cycle(forward bool) {
	i := slices.Index(f.choices, f.text())
	switch n := len(f.choices); {
	case i < 0 && forward:
		i = 0
	case i < 0:
		i = n - 1
	case forward:
		i = (i + 1) % n
	default:
		i = (i + n - 1) % n
	}
	f.set(f.choices[i])
	f.touched = true
}

// view returns the value, exactly as wide as requested; with the cursor if it is focused.
func (f *field) view(th *theme.Theme, width int, focused bool) string {
	if width <= 0 {
		return ""
	}
	if arrows := "‹ ›"; focused && len(f.choices) > 0 && width > 12 {
		n := min(width-4, f.width())
		return text.Fit(f.line(th, n, true)+" "+th.Key.Render(arrows), width)
	}
	return f.line(th, width, focused)
}

// width returns the cells of the value, with the cursor after it.
func (f *field) width() int {
	if len(f.Runes) == 0 {
		return text.Width(text.Clean(f.empty)) + 1
	}
	return text.Width(seen(f.Runes)) + 1
}

// seen returns a part of a value for display. A chosen name is shown as elsewhere, with any characters in it. Each rune is
// cleaned separately, as the cursor may be between any two.
func seen(value []rune) string {
	var b strings.Builder
	for _, r := range value {
		b.WriteString(text.Clean(string(r)))
	}
	return b.String()
}

func (f *field) line(th *theme.Theme, width int, focused bool) string {
	if !focused {
		if len(f.Runes) == 0 {
			return th.Dim.Render(text.Fit(text.Clean(f.empty), width))
		}
		return th.Text.Render(text.Fit(seen(f.Runes), width))
	}
	if len(f.Runes) == 0 && f.rest() == "" {
		first, rest := " ", ""
		if f.empty != "" {
			r := []rune(text.Clean(f.empty))
			first, rest = string(r[:1]), string(r[1:])
		}
		return text.Fit(cursor(th, first)+th.Dim.Render(text.Cut(rest, width-1)), width)
	}
	under, after := " ", ""
	if f.At < len(f.Runes) {
		under, after = seen(f.Runes[f.At:f.At+1]), seen(f.Runes[f.At+1:])
		if under == "" {
			under = "·"
		}
	}
	from := 0 // what is before the cursor is seen as far as there is room
	for from < f.At && text.Width(seen(f.Runes[from:f.At])) > width-text.Width(under) {
		from++
	}
	before := seen(f.Runes[from:f.At])
	if rest := []rune(text.Clean(f.rest())); len(rest) > 0 {
		return text.Fit(th.Prompt.Render(before)+cursor(th, string(rest[:1]))+th.Dim.Render(string(rest[1:])), width)
	}
	return text.Fit(th.Prompt.Render(before)+cursor(th, under)+th.Prompt.Render(after), width)
}

func cursor(th *theme.Theme, s string) string { return th.Prompt.Reverse().Render(s) }
