package printable

import (
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                            "",
		"worker-1":                    "worker-1",
		"名前 é ● 👍🏽 \ufeff":            "名前 é ● 👍🏽 \\ufeff",
		"a\nb\tc\r\nd":                "a b c d",
		"a\rb\r":                      "a b ",
		"\x1b[31mred\x1b[0m":          `\x1b[31mred\x1b[0m`,
		"a\x07\x00\x7f":               `a\x07\x00\x7f`,
		"csi \u009b31m nel \u0085":    `csi \u009b31m nel \u0085`,
		"a\u202eb\u2066c\u2069":       `a\u202eb\u2066c\u2069`,
		"\u200e\u200f\u061c":          `\u200e\u200f\u061c`,
		"a\u2028b\u2029c":             `a\u2028b\u2029c`,
		"a\u200bb\u200dc\u2060\u00ad": `a\u200bb\u200dc\u2060\u00ad`,
		"\U000e0041\ufffe":            `\U000e0041\ufffe`,
		"\xff\xc3(":                   `\xff\xc3(`,
		"\ufffd":                      "\ufffd",
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
		if again := Line(want); again != want {
			t.Errorf("Line(%q) = %q: not the same again", want, again)
		}
	}
}

func TestLines(t *testing.T) {
	if got, want := Lines("a\n\tb\r\nc\x1b[2Jd\u202e\re"), "a\n\tb\nc\\x1b[2Jd\\u202e\\x0de"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// However a text is cut into pieces, what is written is the same.
func TestWriter(t *testing.T) {
	const text = "a\r\nb\x1b名\u202e\xff\u009b\xe5\x90"
	for size := 1; size <= len(text); size++ {
		var b strings.Builder
		w := NewWriter(&b)
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if wrote, err := w.Write([]byte(rest[:n])); wrote != n || err != nil {
				t.Fatal(wrote, err)
			}
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if b.String() != Lines(text) {
			t.Errorf("pieces of %d: %q, want %q", size, b.String(), Lines(text))
		}
	}
}
