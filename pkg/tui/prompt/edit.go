package prompt

import "slices"

// editor is a line with a cursor in it.
type editor struct {
	runes []rune
	at    int // before which rune the cursor is
}

func (e *editor) String() string { return string(e.runes) }

// set takes the place of the line, with the cursor at its end.
func (e *editor) set(s string) { e.runes, e.at = []rune(s), len([]rune(s)) }

// end reports whether the cursor is at the end.
func (e *editor) end() bool { return e.at == len(e.runes) }

func (e *editor) insert(s string) {
	e.runes = slices.Insert(e.runes, e.at, []rune(s)...)
	e.at += len([]rune(s))
}

// cut removes what is between two places.
func (e *editor) cut(from, to int) {
	e.runes = slices.Delete(e.runes, from, to)
	e.at = from
}

// left is the beginning of the word before the cursor, right the end of the one after it.
func (e *editor) left() int {
	i := e.at
	for i > 0 && e.runes[i-1] == ' ' {
		i--
	}
	for i > 0 && e.runes[i-1] != ' ' {
		i--
	}
	return i
}

func (e *editor) right() int {
	i := e.at
	for i < len(e.runes) && e.runes[i] == ' ' {
		i++
	}
	for i < len(e.runes) && e.runes[i] != ' ' {
		i++
	}
	return i
}

// key edits the line as readline does.
func (e *editor) key(name string) {
	switch name {
	case "left", "ctrl+b":
		e.at = max(0, e.at-1)
	case "right", "ctrl+f":
		e.at = min(len(e.runes), e.at+1)
	case "home", "ctrl+a":
		e.at = 0
	case "end", "ctrl+e":
		e.at = len(e.runes)
	case "alt+left", "ctrl+left", "alt+b":
		e.at = e.left()
	case "alt+right", "ctrl+right", "alt+f":
		e.at = e.right()
	case "backspace", "ctrl+h", "shift+backspace":
		e.cut(max(0, e.at-1), e.at)
	case "delete", "ctrl+d":
		e.cut(e.at, min(len(e.runes), e.at+1))
	case "ctrl+w", "alt+backspace":
		e.cut(e.left(), e.at)
	case "alt+d":
		e.cut(e.at, e.right())
	case "ctrl+u":
		e.cut(0, e.at)
	case "ctrl+k":
		e.cut(e.at, len(e.runes))
	}
}
