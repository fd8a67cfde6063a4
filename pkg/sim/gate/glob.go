package gate

import "strings"

// isGlob tells a glob from a plain text.
func isGlob(pattern string) bool { return strings.ContainsAny(pattern, "*?") }

// glob tells whether a pattern matches the whole of a text: * stands for any run of bytes, ? for one.
func glob(pattern, text string) bool {
	p, t := 0, 0
	star, resume := -1, 0 // the last *, and where the text that it does not stand for begins
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			resume++
			p, t = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
