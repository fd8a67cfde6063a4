// Package glob matches names with the patterns of docs/patterns.md: the ones of flags, scenarios, faults, rules and filters.
//
// Floor 0.
package glob

import (
	"strings"
	"unicode/utf8"
)

// IsPattern reports whether text is more than a plain name.
func IsPattern(text string) bool { return strings.ContainsAny(text, "*?") }

// Match reports whether a pattern is for the whole of a text: * stands for any characters, slashes among them, or none, ?
// for one character, and everything else for itself. Case counts. It takes time proportional to the product of the lengths.
func Match(pattern, text string) bool {
	p, t := 0, 0
	star, resume := -1, 0 // the last *, and where the text begins that it does not stand for
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, t
			p++
		case p < len(pattern) && pattern[p] == '?':
			p++
			t += width(text[t:])
		case p < len(pattern) && pattern[p] == text[t]:
			p++
			t++
		case star >= 0:
			resume += width(text[resume:])
			p, t = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// Fold is Match without regard to case.
func Fold(pattern, text string) bool { return Match(strings.ToLower(pattern), strings.ToLower(text)) }

// width is the length of the first character of s.
func width(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}
