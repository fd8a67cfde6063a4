package scenario

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// The states of a run and of its steps.
const (
	pending = "pending"
	running = "running"
	passed  = "passed"
	failed  = "failed"
	errored = "error"
	skipped = "skipped"
)

// mark is a state in a glyph and a word.
func mark(state string) string {
	glyph := theme.GlyphUnknown
	switch state {
	case pending:
		glyph = "·"
	case running:
		glyph = theme.GlyphWarn
	case passed:
		glyph = "✓"
	case failed, errored:
		glyph = theme.GlyphBad
	case skipped:
		glyph = theme.GlyphOff
	}
	return glyph + " " + text.Clean(state)
}

func style(th *theme.Theme, state string) theme.Style {
	switch state {
	case running:
		return th.Warn
	case passed:
		return th.Good
	case failed, errored:
		return th.Bad
	case pending, skipped:
		return th.Dim
	}
	return th.Text
}

// over tells whether nothing more comes of a step or a run in that state.
func over(state string) bool { return state != pending && state != running }

// bad tells whether it did not go as it had to.
func bad(state string) bool { return state == failed || state == errored }
