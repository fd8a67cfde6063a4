package markdown

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestTerminal(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		o          Options
	}{
		"words are wrapped":      {"one two\nthree four five", "one two three four\nfive\n", Options{Width: 20}},
		"a long word stays":      {"a " + strings.Repeat("x", 30) + " b", "a\n" + strings.Repeat("x", 30) + "\nb\n", Options{Width: 20}},
		"paragraphs":             {"a\n\n\nb", "a\n\nb\n", Options{}},
		"signs stay":             {"a *b* **c `d`** `e f`", "a *b* **c `d`** `e f`\n", Options{}},
		"styles, word by word":   {"**b c**", "\x1b[1mb\x1b[0m \x1b[1mc\x1b[0m\n", Options{Styled: true}},
		"styles have no columns": {"`aaaaa` `bbbbb` `ccccc`", "\x1b[36maaaaa\x1b[0m \x1b[36mbbbbb\x1b[0m \x1b[36mccccc\x1b[0m\n", Options{Styled: true, Width: 20}},
		"code at a word":         {"(`a`,", "(\x1b[36ma\x1b[0m,\n", Options{Styled: true}},
		"stars that are none":    {"2 * 3 * 4 and a*", "2 * 3 * 4 and a*\n", Options{Styled: true}},
		"lists":                  {"- one two three four five six\n  and more\n- b\n\nc", "  • one two three four\n    five six and more\n  • b\n\nc\n", Options{Width: 22}},
		"numbers":                {"1. a\n2. b", "  1. a\n  2. b\n", Options{}},
		"code":                   {"a\n```yaml\n- *b*   c\n```\nd", "a\n\n    - *b*   c\n\nd\n", Options{}},
		"code without end":       {"```\na", "    a\n", Options{}},
		"headings":               {"### A `b`\ntext", "\x1b[1mA \x1b[36mb\x1b[0m\x1b[0m\n\ntext\n", Options{Styled: true}},
		"quotes":                 {"> a\n> b", "  │ a b\n", Options{}},
		"the web":                {"see [this](https://x.y/z), and [that](../a.md)", "see this (https://x.y/z), and that\n", Options{}},
		"links of one's own":     {"[a `b`](../c.yaml)", "a `b` (c)\n", Options{Link: func(string) string { return "c" }}},
		"tables":                 {"| a | bb |\n|---|---|\n| `cc` | d |", "  a      bb\n  `cc`   d\n", Options{}},
		"a table without head":   {"| | |\n|---|---|\n| c | d |", "  c   d\n", Options{}},
		"a table that is wide":   {"| a | b |\n|---|---|\n| ccccccc | ddddd ddddd ddddd |", "  a: b\n  • ccccccc: ddddd\n    ddddd ddddd\n", Options{Width: 20}},
		"nothing":                {"", "", Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Terminal(c.text, c.o)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Nothing of the pages is lost, and nothing but code is too wide.
func TestPages(t *testing.T) {
	pages, err := filepath.Glob("../../../tutorials/*/README.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	letters := regexp.MustCompile(`[a-zA-Z]{3,}`)
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		prose := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(string(data), "")
		prose = regexp.MustCompile(`\]\([^)]*\)`).ReplaceAllString(prose, "](#)") // where links lead is shown or not
		shown := Terminal(prose, Options{Width: 60})
		missing := map[string]int{}
		for _, w := range letters.FindAllString(prose, -1) {
			missing[w]++
		}
		for _, w := range letters.FindAllString(shown, -1) {
			missing[w]--
		}
		for w, n := range missing {
			if n > 0 {
				t.Errorf("%s: %q is shown %d times less", page, w, n)
			}
		}
		for line := range strings.SplitSeq(shown, "\n") {
			if utf8.RuneCountInString(line) > 60 && len(strings.Fields(line)) > 2 && !strings.HasPrefix(line, "    ") {
				t.Errorf("%s: too wide: %s", page, line)
			}
		}
	}
}
