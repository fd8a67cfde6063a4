package faults

import (
	"slices"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// field is one line of a form that can be written in.
type field struct {
	label string
	// help says what goes in, empty what nothing means.
	help, empty string
	// choices are what ←→ go through; "" among them is nothing.
	choices []string
	// check says what is wrong with a value; "" for nothing.
	check func(value string) string
	// doubt says what is perhaps wrong, which only the sandbox can tell.
	doubt func(value string) string
	// suggest returns how what is written may go on.
	suggest func(value string) string

	value   []rune
	at      int  // where the cursor is
	whole   bool // the value was not written but chosen: writing takes its place
	touched bool // it is worth telling what is wrong with it
}

func (f *field) text() string { return strings.TrimSpace(string(f.value)) }

func (f *field) set(value string) {
	f.value, f.whole = []rune(value), value != ""
	f.at = len(f.value)
}

// wrong is what is wrong with the value.
func (f *field) wrong() string {
	if f.check == nil {
		return ""
	}
	return f.check(f.text())
}

// rest is how the value may go on, when the cursor is at its end.
func (f *field) rest() string {
	if f.suggest == nil || f.at < len(f.value) || f.whole {
		return ""
	}
	return f.suggest(string(f.value))
}

// handle takes the keys that change the value, and reports whether this was one.
func (f *field) handle(k tea.KeyPressMsg) bool {
	switch name := k.String(); name {
	case "left", "right", "ctrl+b", "ctrl+f":
		forward := name == "right" || name == "ctrl+f"
		switch {
		case len(f.choices) > 0:
			f.cycle(forward)
		case forward && f.at == len(f.value):
			f.write(f.rest())
		case forward:
			f.at++
		default:
			f.at = max(0, f.at-1)
		}
		f.whole = f.whole && len(f.choices) > 0
	case "home", "ctrl+a":
		f.at, f.whole = 0, false
	case "end", "ctrl+e":
		if f.at == len(f.value) {
			f.write(f.rest())
		}
		f.at, f.whole = len(f.value), false
	case "backspace", "ctrl+h":
		if f.at > 0 {
			f.cut(f.at-1, f.at)
		}
	case "delete":
		if f.at < len(f.value) {
			f.cut(f.at, f.at+1)
		}
	case "ctrl+w", "alt+backspace":
		from := f.at
		for from > 0 && unicode.IsSpace(f.value[from-1]) {
			from--
		}
		for from > 0 && !unicode.IsSpace(f.value[from-1]) {
			from--
		}
		f.cut(from, f.at)
	case "ctrl+u":
		f.cut(0, f.at)
	case "ctrl+k":
		f.cut(f.at, len(f.value))
	default:
		if k.Text == "" {
			return false
		}
		f.typed(k.Text)
	}
	return true
}

// typed is for what was written by a person, at the cursor.
func (f *field) typed(s string) {
	if f.whole && len(f.choices) > 0 {
		f.cut(0, len(f.value))
	}
	f.write(s)
}

func (f *field) write(s string) {
	s = text.Clean(s)
	f.value = slices.Insert(f.value, f.at, []rune(s)...)
	f.at += len([]rune(s))
	f.whole = false
}

func (f *field) cut(from, to int) {
	f.value = slices.Delete(f.value, from, to)
	f.at, f.whole = from, false
}

// cycle goes to the next choice, or the one before.
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

// view is the value, exactly as wide as asked; with the cursor if it is focused.
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

// width is how many cells the value needs, with the cursor after it.
func (f *field) width() int {
	if len(f.value) == 0 {
		return text.Width(text.Clean(f.empty)) + 1
	}
	return text.Width(seen(f.value)) + 1
}

// seen is how a part of a value is shown. A name that was chosen is what it is elsewhere, whatever is in it; each rune is
// made safe by itself, as the cursor stands between any two.
func seen(value []rune) string {
	var b strings.Builder
	for _, r := range value {
		b.WriteString(text.Clean(string(r)))
	}
	return b.String()
}

func (f *field) line(th *theme.Theme, width int, focused bool) string {
	if !focused {
		if len(f.value) == 0 {
			return th.Dim.Render(text.Fit(text.Clean(f.empty), width))
		}
		return th.Text.Render(text.Fit(seen(f.value), width))
	}
	if len(f.value) == 0 && f.rest() == "" {
		first, rest := " ", ""
		if f.empty != "" {
			r := []rune(text.Clean(f.empty))
			first, rest = string(r[:1]), string(r[1:])
		}
		return text.Fit(cursor(th, first)+th.Dim.Render(text.Cut(rest, width-1)), width)
	}
	under, after := " ", ""
	if f.at < len(f.value) {
		under, after = seen(f.value[f.at:f.at+1]), seen(f.value[f.at+1:])
		if under == "" {
			under = "·"
		}
	}
	from := 0 // what is before the cursor is seen as far as there is room
	for from < f.at && text.Width(seen(f.value[from:f.at])) > width-text.Width(under) {
		from++
	}
	before := seen(f.value[from:f.at])
	if rest := []rune(text.Clean(f.rest())); len(rest) > 0 {
		return text.Fit(th.Prompt.Render(before)+cursor(th, string(rest[:1]))+th.Dim.Render(string(rest[1:])), width)
	}
	return text.Fit(th.Prompt.Render(before)+cursor(th, under)+th.Prompt.Render(after), width)
}

func cursor(th *theme.Theme, s string) string { return th.Prompt.Reverse().Render(s) }
