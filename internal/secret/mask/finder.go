package mask

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// deepest is how many times what was encoded may have been encoded again.
const deepest = 3

// finder finds what is known, and what has the shape of a secret.
type finder struct {
	forms, cores *strings.Replacer
}

// mark stands for the core of a base64 text until the rest of that is found. No text that is handed in has it any more.
const mark = "\x00"

func newFinder(known map[string]bool) *finder {
	var all, inner []string
	for secret := range known {
		all = append(all, forms(secret)...)
		inner = append(inner, cores(secret)...)
	}
	return &finder{replacer(all, Text), replacer(inner, mark)}
}

// replacer finds the longest first, so that of a secret that begins another nothing is left.
func replacer(words []string, with string) *strings.Replacer {
	slices.SortFunc(words, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	var pairs []string
	for _, w := range slices.Compact(words) {
		pairs = append(pairs, w, with)
	}
	return strings.NewReplacer(pairs...)
}

// Runs of base64, and those that hold a mark; a backslash before them began a \n of JSON's.
var (
	encoded = regexp.MustCompile(`(?:[A-Za-z0-9+/_-]|%2[BbFf]){24,}(?:=|%3[Dd]){0,2}`)
	marked  = regexp.MustCompile(`\\*[A-Za-z0-9+/_=%-]*(?:` + mark + `[A-Za-z0-9+/_=%-]*)+`)
)

func (f *finder) mask(text string, depth int) string {
	text = strings.ReplaceAll(text, mark, " ")
	text = f.forms.Replace(text)
	if text = f.cores.Replace(text); strings.Contains(text, mark) {
		text = marked.ReplaceAllLiteralString(text, Text)
	}
	text = shapes(text)
	if depth == 0 {
		return text
	}
	return encoded.ReplaceAllStringFunc(text, func(run string) string {
		if plain := decode(run); plain != "" && f.mask(plain, depth-1) != plain {
			return Text
		}
		return run
	})
}

// decode returns the text that a run is in base64, "" where it is none. Something before it may have looked like a part.
func decode(run string) string {
	run = strings.NewReplacer("-", "+", "_", "/", "%2B", "+", "%2b", "+", "%2F", "/", "%2f", "/", "%3D", "", "%3d", "", "=", "").Replace(run)
	for begin := range 4 {
		rest := run[min(begin, len(run)):]
		if len(rest)%4 == 1 {
			rest = rest[:len(rest)-1]
		}
		if plain, err := base64.RawStdEncoding.DecodeString(rest); err == nil && readable(plain) {
			return string(plain)
		}
	}
	return ""
}

func readable(b []byte) bool {
	if len(b) == 0 || !utf8.Valid(b) {
		return false
	}
	return !strings.ContainsFunc(string(b), func(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) })
}
