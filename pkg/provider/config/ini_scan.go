package config

import (
	"strings"
	"unicode"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

// iniSection is one section as written.
type iniSection struct {
	name, sub    string
	hasSub       bool
	line, column int
	commented    bool // a comment follows on the line
	entries      []iniEntry
}

// iniEntry is one variable. A bare one, without an equals sign, is a truth value that is true.
type iniEntry struct {
	key, value   string
	bare         bool
	commented    bool // a comment follows on the last of its lines
	line, column int
	tail         bool // nobody knows the key, and it may be the rest of the password before it
}

// called is what a key is called that nobody knows.
func (e iniEntry) called() string {
	if e.tail {
		return "(a word after the password)"
	}
	return e.key
}

// iniScanner splits an INI file as gopkg.in/gcfg.v1 does, which upstream's and the in-tree provider read it with:
//   - [section] and [section "sub"], the latter with \" and \\ in its name;
//   - key = value, a comment begins anywhere outside quotes with # or ;
//   - quotes anywhere in a value keep spaces and comment signs, and in them \n, \t, \" and \\ are escapes;
//   - outside of them a backslash stands only before a quote or, to continue the value, at the end of a line.
//
// Unlike gcfg it goes on at the next line after a mistake, to find them all.
type iniScanner struct {
	name string
	text []rune
	pos  int
	line int
	bol  int // where the line begins
	p    *problems
	// afterPassword is whether a line may be the rest of a password that was wrapped: no word of it is told then.
	afterPassword bool
}

// scanINI returns the sections in the order of the file, as far as they can be read, and whether one could not be.
func scanINI(name string, data []byte, p *problems) (sections []iniSection, anyLost bool) {
	s := &iniScanner{name: name, text: []rune(strings.ReplaceAll(string(data), "\r\n", "\n")), line: 1, p: p}
	lost := false // the last header could not be read: nobody knows whose keys follow
	for {
		s.spaces()
		line, column := s.line, s.column()
		switch c := s.peek(); {
		case c == end:
			return sections, anyLost
		case c == '\n':
			s.next()
		case c == '#' || c == ';':
			s.skipLine()
		case c == '[':
			section, ok := s.header()
			lost, anyLost = !ok, anyLost || !ok
			if ok {
				section.line, section.column = line, column
				sections = append(sections, section)
			}
		case unicode.IsLetter(c):
			e, ok := s.entry()
			e.line, e.column = line, column
			switch {
			case !ok || lost:
			case len(sections) == 0:
				s.problem(line, column, "", "%s stands before the first section", e.called())
			default:
				last := &sections[len(sections)-1]
				last.entries = append(last.entries, e)
			}
		case s.afterPassword:
			s.problem(line, column, restOfPassword, noKey)
			s.skipLine()
		default:
			s.problem(line, column, "", noKey+", not with %q", c)
			s.skipLine()
		}
	}
}

const (
	noKey          = "a line begins with a [section], a key or a comment"
	restOfPassword = "is it the rest of the password? That is in one line, in quotes"
)

// header reads [name] or [name "sub"] and the rest of its line.
func (s *iniScanner) header() (iniSection, bool) {
	line, column := s.line, s.column()
	fail := func(hint, format string, args ...any) (iniSection, bool) {
		s.problem(line, column, hint, format, args...)
		s.skipLine()
		return iniSection{}, false
	}
	s.next()
	s.spaces()
	section := iniSection{name: s.word()}
	if section.name == "" {
		return fail("", "a section has no name")
	}
	called := section.name
	if s.afterPassword && !familiar(called, iniSections()) {
		called = "…"
	}
	s.spaces()
	if s.peek() == '"' {
		s.next()
		var sub strings.Builder
		for s.peek() != '"' {
			c := s.peek()
			if c == end || c == '\n' {
				return fail("", "the quotes of a section's name are not closed")
			}
			s.next()
			if c == '\\' {
				if c = s.peek(); c != '"' && c != '\\' {
					return fail("", `in a section's name, \ stands only before " and \`)
				}
				s.next()
			}
			sub.WriteRune(c)
		}
		s.next()
		section.sub, section.hasSub = sub.String(), true
		if section.sub == "" {
			return fail("", `section [%s ""] has an empty name`, called)
		}
	}
	s.spaces()
	if c := s.peek(); c != ']' {
		hint := ""
		if !section.hasSub && c != end && c != '\n' {
			hint = "a second name needs quotes: [" + called + ` "NAME"]`
		}
		return fail(hint, "section [%s is not closed by ]", called)
	}
	s.next()
	s.spaces()
	if c := s.peek(); c != end && c != '\n' && c != '#' && c != ';' {
		return fail("", "nothing may follow the ] of a section")
	}
	s.afterPassword = false
	section.commented = s.atComment()
	s.skipLine()
	return section, true
}

// entry reads "key = value" or "key", and the rest of its line.
func (s *iniScanner) entry() (iniEntry, bool) {
	e := iniEntry{key: s.word()}
	if e.tail = s.afterPassword && !familiar(e.key, iniKeys()); !e.tail {
		s.afterPassword = nearest.Of(e.key, []string{"password"}) != ""
	}
	s.spaces()
	switch c := s.peek(); c {
	case '=':
		s.next()
		s.spaces()
		var ok bool
		e.value, ok = s.value(e.key)
		e.commented = s.atComment()
		s.skipLine()
		return e, ok
	case end, '\n', '#', ';':
		e.bare, e.commented = true, s.atComment()
		s.skipLine()
		return e, true
	default:
		if e.tail {
			s.problem(s.line, s.column(), restOfPassword, noKey)
			s.skipLine()
			return e, false
		}
		hint := ""
		if c == ':' {
			hint = "is this meant to be YAML?"
		}
		s.problem(s.line, s.column(), hint, "after the key %s comes =, not %q", e.key, c)
		s.skipLine()
		return e, false
	}
}

// value reads up to the end of a value: the end of the line, or a comment.
func (s *iniScanner) value(key string) (string, bool) {
	var value strings.Builder
	kept := 0 // the value's length without spaces at its end
	line, column := s.line, s.column()
	inQuotes := false
	for {
		c := s.peek()
		switch {
		case c == end || c == '\n':
			if inQuotes {
				s.problem(line, column, "", "the quotes of the value of %s are not closed", key)
				return "", false
			}
			return value.String()[:kept], true
		case !inQuotes && (c == '#' || c == ';'):
			return value.String()[:kept], true
		case c == '"':
			s.next()
			inQuotes = !inQuotes
			kept = value.Len()
			continue
		case c == '\\':
			escaped, ok := s.escape(key, inQuotes)
			if !ok {
				return "", false
			}
			value.WriteString(escaped)
			kept = value.Len()
			continue
		}
		s.next()
		value.WriteRune(c)
		if inQuotes || !isSpace(c) {
			kept = value.Len()
		}
	}
}

// escape reads a backslash and what it stands before.
func (s *iniScanner) escape(key string, inQuotes bool) (string, bool) {
	line, column := s.line, s.column()
	s.next()
	c := s.peek()
	switch {
	case c == '"' || inQuotes && c == '\\':
		s.next()
		return string(c), true
	case inQuotes && c == 'n':
		s.next()
		return "\n", true
	case inQuotes && c == 't':
		s.next()
		return "\t", true
	case !inQuotes && c == '\n':
		s.next()
		return "", true
	case inQuotes:
		s.problem(line, column, `write \\ for a backslash`, `in the value of %s, \ stands only before n, t, " and \`, key)
	default:
		s.problem(line, column, `write the value in quotes and \\ for a backslash`, `in the value of %s, \ stands outside quotes`, key)
	}
	return "", false
}

const end rune = -1

func (s *iniScanner) peek() rune {
	if s.pos == len(s.text) {
		return end
	}
	return s.text[s.pos]
}

// next goes on by one, if there is anything.
func (s *iniScanner) next() {
	if s.pos == len(s.text) {
		return
	}
	if s.text[s.pos] == '\n' {
		s.line++
		s.bol = s.pos + 1
	}
	s.pos++
}

func (s *iniScanner) column() int { return s.pos - s.bol + 1 }

func (s *iniScanner) spaces() {
	for isSpace(s.peek()) {
		s.next()
	}
}

// word reads a name: a letter, then letters, digits and hyphens.
func (s *iniScanner) word() string {
	from := s.pos
	for c := s.peek(); unicode.IsLetter(c) || s.pos > from && (unicode.IsDigit(c) || c == '-'); c = s.peek() {
		s.next()
	}
	return string(s.text[from:s.pos])
}

func (s *iniScanner) atComment() bool { return s.peek() == '#' || s.peek() == ';' }

func (s *iniScanner) skipLine() {
	for c := s.peek(); c != end && c != '\n'; c = s.peek() {
		s.next()
	}
}

func (s *iniScanner) problem(line, column int, hint, format string, args ...any) {
	s.p.at(position{file: s.name, line: line, column: column}, hint, format, args...)
}

func isSpace(c rune) bool { return c == ' ' || c == '\t' || c == '\r' }
