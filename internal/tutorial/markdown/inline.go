package markdown

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The styles, as numbers of ANSI.
const (
	bold      = 1
	underline = 4
	cyan      = 36
)

// piece is a part of a line that looks the same.
type piece struct {
	text  string
	style int // 0 is plain
}

var mark = regexp.MustCompile("`([^`]+)`" + `|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[((?:[^\[\]` + "`" + `]|` + "`[^`]*`" + `)+)\]\(([^)\s]+)\)`)

// pieces takes a text apart.
func (o Options) pieces(text string) []piece {
	var found []piece
	for {
		m := mark.FindStringSubmatchIndex(text)
		if m == nil {
			return append(found, piece{text: text})
		}
		found = append(found, piece{text: text[:m[0]]})
		group := func(n int) string { return text[m[2*n]:m[2*n+1]] }
		switch {
		case m[2] >= 0:
			found = append(found, piece{o.signed("`", group(1)), cyan})
		case m[4] >= 0:
			found = append(found, o.inside(group(2), bold)...)
		case m[6] >= 0:
			found = append(found, piece{o.signed("*", group(3)), underline})
		default:
			found = append(found, o.pieces(group(4))...)
			if to := o.link(group(5)); to != "" && to != strings.Trim(group(4), "`") {
				found = append(found, piece{text: " (" + to + ")"})
			}
		}
		text = text[m[1]:]
	}
}

// inside is a text with a style, in which there may be code.
func (o Options) inside(text string, style int) []piece {
	var found []piece
	for _, p := range o.pieces(text) {
		if p.style == 0 {
			p.style = style
		}
		found = append(found, p)
	}
	if o.Styled {
		return found
	}
	return append(append([]piece{{text: "**"}}, found...), piece{text: "**"})
}

func (o Options) link(target string) string {
	if o.Link != nil {
		return o.Link(target)
	}
	if strings.Contains(target, "://") {
		return target
	}
	return ""
}

// signed keeps the signs around a text that is not styled.
func (o Options) signed(sign, text string) string {
	if o.Styled {
		return text
	}
	return sign + text + sign
}

func (o Options) style(style int, text string) string {
	if style == 0 || !o.Styled || text == "" {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", style, text)
}

// inline is a text on one line.
func (o Options) inline(text string) string {
	var b strings.Builder
	for _, p := range o.pieces(text) {
		b.WriteString(o.style(p.style, p.text))
	}
	return b.String()
}

// columns counts what inline makes of a text, escape sequences left out.
func (o Options) columns(text string) int {
	n := 0
	for _, p := range o.pieces(text) {
		n += utf8.RuneCountInString(p.text)
	}
	return n
}

// word is what is not broken.
type word struct {
	text    string
	columns int
}

// words takes a text apart at its spaces; every word has its own styles, so that lines may end anywhere.
func (o Options) words(text string) []word {
	var found []word
	joined := false // the next piece continues the last word
	for _, p := range o.pieces(text) {
		for i, part := range strings.Split(p.text, " ") {
			if i > 0 {
				joined = false
			}
			if part == "" {
				continue
			}
			w := word{o.style(p.style, part), utf8.RuneCountInString(part)}
			if joined {
				last := &found[len(found)-1]
				last.text, last.columns = last.text+w.text, last.columns+w.columns
			} else {
				found = append(found, w)
			}
			joined = true
		}
	}
	return found
}
