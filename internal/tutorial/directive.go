package tutorial

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

const notRun = "not run"

// directives are their first words: those of blocks, needs of steps as well, and those of offers.
func directives() []string {
	return append([]string{"wait", "terminal", "background", "exit", notRun, "needs", "check"}, offers()...)
}

// looks is how a directive looks that may be misspelled: other comments do not begin with a word and a colon.
var looks = regexp.MustCompile(`^([a-z]+(?: [a-z]+)?):`)

// named returns which directive a comment means to be, if it does.
func named(text string) (directive string, ok bool) {
	for _, d := range directives() {
		rest, ok := strings.CutPrefix(text, d)
		if ok && (rest == "" || rest[0] == ':' || rest[0] == ' ' && !slices.Contains(offers(), d)) {
			return d, true
		}
	}
	if m := looks.FindStringSubmatch(text); m != nil {
		return m[1], true
	}
	return "", false
}

// unknown is the error for a comment that is no directive.
func unknown(text, word string) error {
	guess := ""
	if near := nearest.Of(word, directives()); near != "" {
		guess = fmt.Sprintf("; did you mean %q?", near)
	}
	return fmt.Errorf("%q is no directive%s (%s)", text, guess, strings.Join(directives(), ", "))
}

// directive takes in what a comment above the block says.
func (b *Block) directive(text string) error {
	if why, ok := strings.CutPrefix(text, notRun); ok {
		b.NotRun = strings.TrimSpace(strings.TrimPrefix(why, ":"))
		if b.NotRun == "" {
			return fmt.Errorf("%q: a reason is missing; write \"not run: why not\"", text)
		}
		return nil
	}
	word, value, _ := strings.Cut(text, " ")
	word, value = strings.TrimSuffix(word, ":"), strings.TrimSpace(value)
	var err error
	switch word {
	case "wait":
		b.Wait, err = time.ParseDuration(value)
		if err == nil && b.Wait <= 0 {
			err = fmt.Errorf("%s is no time to wait", value)
		}
	case "terminal":
		b.Terminal, err = number(value, 1, 9)
	case "exit":
		b.Exit, err = number(value, 1, 255)
	case "background":
		b.Background = true
		if value != "" {
			err = fmt.Errorf("%q is too much", value)
		}
	case "needs":
		b.Needs, err = needs(value)
	case "check":
		b.Check = value
		if value == "" {
			err = fmt.Errorf("a command is missing; write \"check: COMMAND\"")
		}
	default:
		return unknown(text, word)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	return nil
}

func number(text string, least, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q is not a number from %d to %d", text, least, most)
	}
	return n, nil
}
