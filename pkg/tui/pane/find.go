package pane

import (
	"slices"
	"strings"
)

// search is what is looked for: lines in which all words are, in any case.
type search struct {
	words []string
	lines []int // those in which they are
	at    int   // which of them is looked at; -1 none yet
	from  int   // the line at which the search began
}

// matches tells whether all words are in a text.
func (s *search) matches(t string) bool {
	t = strings.ToLower(t)
	return len(s.words) > 0 && !slices.ContainsFunc(s.words, func(w string) bool { return !strings.Contains(t, w) })
}

// pieces are where the words are in a text, in order, without overlap.
func (s *search) pieces(t string) (found [][2]int) {
	lower := strings.ToLower(t)
	if len(lower) != len(t) { // a letter whose other case is longer: the places differ
		return nil
	}
	for _, w := range s.words {
		for at := 0; ; {
			i := strings.Index(lower[at:], w)
			if i < 0 {
				break
			}
			found = append(found, [2]int{at + i, at + i + len(w)})
			at += i + len(w)
		}
	}
	slices.SortFunc(found, func(a, b [2]int) int { return a[0] - b[0] })
	last := 0
	return slices.DeleteFunc(found, func(f [2]int) bool {
		over := f[0] < last
		if !over {
			last = f[1]
		}
		return over
	})
}

// set looks for other words, from a line on, and tells the line to go to; ok is false for none.
func (s *search) set(filter string, lines []line, top int) (to int, ok bool) {
	if len(s.words) == 0 {
		s.from = top
	}
	s.words = strings.Fields(strings.ToLower(filter))
	s.lines, s.at = nil, -1
	s.more(lines, 0)
	if len(s.lines) == 0 {
		return s.from, false
	}
	s.at, _ = slices.BinarySearch(s.lines, s.from)
	s.at %= len(s.lines)
	return s.lines[s.at], true
}

// more looks at lines from one on, which are new.
func (s *search) more(lines []line, from int) {
	if len(s.words) == 0 {
		return
	}
	for i := from; i < len(lines); i++ {
		if s.matches(lines[i].text) {
			s.lines = append(s.lines, i)
		}
	}
}

// drop forgets the first n lines.
func (s *search) drop(n int) {
	kept := s.lines[:0]
	gone := 0
	for _, i := range s.lines {
		if i < n {
			gone++
			continue
		}
		kept = append(kept, i-n)
	}
	s.lines, s.at, s.from = kept, max(-1, s.at-gone), max(0, s.from-n)
}

// next goes to the next line (1) or the one before (-1), around the ends.
func (s *search) next(by int) (to int, ok bool) {
	n := len(s.lines)
	if n == 0 {
		return 0, false
	}
	if s.at < 0 && by < 0 {
		s.at = 0
	}
	s.at = (s.at + by + n) % n
	return s.lines[s.at], true
}
