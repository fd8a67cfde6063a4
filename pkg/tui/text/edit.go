package text

import (
	"slices"
	"unicode"
)

// Edit is a line of text with a cursor, edited with the keys of readline. It keeps every rune as it is; [Clean] it to show it.
// bubbles/textinput replaces control characters, so that it could not hold the name of any object.
type Edit struct {
	Runes []rune
	At    int // the cursor is before this rune
}

// String returns the line.
func (e *Edit) String() string { return string(e.Runes) }

// Set replaces the line, with the cursor at its end.
func (e *Edit) Set(s string) { e.Runes, e.At = []rune(s), len([]rune(s)) }

// AtEnd reports whether the cursor is at the end.
func (e *Edit) AtEnd() bool { return e.At == len(e.Runes) }

// Insert inserts text before the cursor.
func (e *Edit) Insert(s string) {
	e.Runes = slices.Insert(e.Runes, e.At, []rune(s)...)
	e.At += len([]rune(s))
}

// Cut removes a range of runes, and leaves the cursor there.
func (e *Edit) Cut(from, to int) {
	e.Runes = slices.Delete(e.Runes, from, to)
	e.At = from
}

// left returns the beginning of the word before the cursor, right the end of the word after it.
func (e *Edit) left() int {
	i := e.At
	for i > 0 && unicode.IsSpace(e.Runes[i-1]) {
		i--
	}
	for i > 0 && !unicode.IsSpace(e.Runes[i-1]) {
		i--
	}
	return i
}

func (e *Edit) right() int {
	i := e.At
	for i < len(e.Runes) && unicode.IsSpace(e.Runes[i]) {
		i++
	}
	for i < len(e.Runes) && !unicode.IsSpace(e.Runes[i]) {
		i++
	}
	return i
}

// Key edits the line as readline does, and reports whether it knows the key.
func (e *Edit) Key(name string) bool {
	switch name {
	case "left", "ctrl+b":
		e.At = max(0, e.At-1)
	case "right", "ctrl+f":
		e.At = min(len(e.Runes), e.At+1)
	case "home", "ctrl+a":
		e.At = 0
	case "end", "ctrl+e":
		e.At = len(e.Runes)
	case "alt+left", "ctrl+left", "alt+b":
		e.At = e.left()
	case "alt+right", "ctrl+right", "alt+f":
		e.At = e.right()
	case "backspace", "ctrl+h", "shift+backspace":
		e.Cut(max(0, e.At-1), e.At)
	case "delete", "ctrl+d":
		e.Cut(e.At, min(len(e.Runes), e.At+1))
	case "ctrl+w", "alt+backspace":
		e.Cut(e.left(), e.At)
	case "alt+d":
		e.Cut(e.At, e.right())
	case "ctrl+u":
		e.Cut(0, e.At)
	case "ctrl+k":
		e.Cut(e.At, len(e.Runes))
	default:
		return false
	}
	return true
}
