package tutorial

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

const notRun = "not run"

// directives are their first words.
func directives() []string { return []string{"wait", "terminal", "background", "exit", notRun} }

// known says whether a comment means to be a directive.
func known(text string) bool {
	for _, d := range directives() {
		if rest, ok := strings.CutPrefix(text, d); ok && (rest == "" || rest[0] == ' ' || rest[0] == ':') {
			return true
		}
	}
	return false
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
	value = strings.TrimSpace(value)
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
	default:
		guess := ""
		if near := nearest.Of(word, directives()); near != "" {
			guess = fmt.Sprintf("; did you mean %q?", near)
		}
		return fmt.Errorf("%q above a block of commands is no directive%s (%s)", text, guess, strings.Join(directives(), ", "))
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
