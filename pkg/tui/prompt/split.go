package prompt

import (
	"fmt"
	"strings"
)

// word is a word of a line, without its quotes.
type word struct {
	text string
	// start is the byte of the line where it begins, its quote included.
	start int
}

// split breaks a line into words as a POSIX shell does, without expanding anything. open is the quote that is not closed;
// the last word is what there is of it.
func split(line string) (words []word, open string) {
	var b strings.Builder
	in, quote := false, byte(0)
	begin := func(i int) {
		if !in {
			in = true
			words = append(words, word{start: i})
		}
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == 0 && (c == ' ' || c == '\t'):
			if in {
				words[len(words)-1].text = b.String()
			}
			in = false
			b.Reset()
			continue
		case quote == c:
			quote = 0
			continue
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
			begin(i)
			continue
		case c == '\\' && quote != '\'' && i+1 < len(line) && (quote == 0 || strings.IndexByte(`"\$`+"`", line[i+1]) >= 0):
			begin(i)
			i++
			c = line[i]
		default:
			begin(i)
		}
		b.WriteByte(c)
	}
	if in {
		words[len(words)-1].text = b.String()
	}
	if quote != 0 {
		open = string(quote)
	}
	return words, open
}

// texts are the words of a line; a quote has to be closed.
func texts(line string) ([]string, error) {
	words, open := split(line)
	if open != "" {
		return nil, fmt.Errorf("the quote %s is not closed", open)
	}
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = w.text
	}
	return all, nil
}
