package glance

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// Level is how good something is.
type Level int

// The levels; of several, the highest is that of the whole.
const (
	Plain Level = iota // neither good nor bad: not there, not asked for
	Good               // as it should be
	Warn               // on its way, or to be looked at
	Bad                // broken
)

// Mark is a state in a glyph and a word. The zero value is nothing to be said.
type Mark struct {
	Glyph, Word string
	Level       Level
}

// String is the glyph and the word.
func (m Mark) String() string {
	if m.Glyph == "" {
		return m.Word
	}
	return m.Glyph + " " + m.Word
}

// Style is that of the mark's level.
func (m Mark) Style(t *theme.Theme) theme.Style { return m.Level.Style(t) }

// Style is what a level looks like.
func (l Level) Style(t *theme.Theme) theme.Style {
	switch l {
	case Good:
		return t.Good
	case Warn:
		return t.Warn
	case Bad:
		return t.Bad
	}
	return t.Dim
}

func good(word string) Mark  { return Mark{theme.GlyphGood, word, Good} }
func warn(word string) Mark  { return Mark{theme.GlyphWarn, word, Warn} }
func bad(word string) Mark   { return Mark{theme.GlyphBad, word, Bad} }
func plain(word string) Mark { return Mark{theme.GlyphOff, word, Plain} }
func doubt(word string) Mark { return Mark{theme.GlyphUnknown, word, Warn} }
