package config

import (
	"fmt"
	"strconv"
	"strings"
)

// position is where something stands and what it is called there.
type position struct {
	file         string
	line, column int // 0 when there is none, as in the environment
	path         string
}

// cell is a value that may be absent, with where it stands.
type cell[T any] struct {
	value T
	at    position
	set   bool
	bad   bool // it is there and cannot be read, which has been told
}

func (c *cell[T]) put(v T, at position) { *c = cell[T]{value: v, at: at, set: true} }

// spoil notes a value that cannot be read, so that it is not called missing too.
func (c *cell[T]) spoil(at position) { *c = cell[T]{at: at, set: true, bad: true} }

// good is whether there is a value to look at.
func (c cell[T]) good() bool { return c.set && !c.bad }

// or returns the first of two that is set.
func (c cell[T]) or(other cell[T]) cell[T] {
	if c.set {
		return c
	}
	return other
}

// setText puts what is written as plain text, in an INI file or in the environment, into dst, which is a pointer to a
// cell. Text that is empty sets nothing.
func setText(dst any, text string, at position, p *problems) {
	if text == "" {
		return
	}
	switch dst := dst.(type) {
	case *cell[string]:
		dst.put(text, at)
	case *cell[int]:
		n, err := parseInt(text)
		if err != nil {
			p.at(at, "", "must be a whole number, not %q", text)
			dst.spoil(at)
			return
		}
		dst.put(n, at)
	case *cell[bool]:
		b, ok := parseBool(text)
		if !ok {
			p.at(at, "", "must be true or false, not %q", text)
			dst.spoil(at)
			return
		}
		dst.put(b, at)
	case *cell[[]string]:
		if list := splitList(text); len(list) > 0 {
			dst.put(list, at)
		}
	default:
		panic(fmt.Sprintf("config: no cell: %T", dst))
	}
}

// parseInt reads a number as gcfg does: a zero in front does not make it octal.
func parseInt(text string) (int, error) {
	base := 10
	if digits, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok {
		text, base = digits, 16
	}
	n, err := strconv.ParseInt(text, base, 32)
	return int(n), err
}

// parseBool knows the words of gcfg, and with them those of strconv.ParseBool, which upstream reads the environment by.
func parseBool(text string) (value, ok bool) {
	switch strings.ToLower(text) {
	case "true", "yes", "on", "1", "t":
		return true, true
	case "false", "no", "off", "0", "f":
		return false, true
	}
	return false, false
}

// splitList reads a list with commas; spaces around its items and empty items count for nothing.
func splitList(text string) []string {
	var list []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}
