package faults

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

const (
	formWidth = 84
	// around is the number of lines besides the fields: title, help, a plan of a few targets, command line, hints.
	around = 14
)

// Size implements [panel.Box].
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
