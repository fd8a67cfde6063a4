package text

import "testing"

// What names and log lines are made of does nothing to the terminal, and stands where it is put.
func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"worker-1":              "worker-1",
		"名前 é ●":                "名前 é ●",
		"a\nb\tc\r":             "a b c ",
		"\x1b[31mred\x1b[0m":    "red",
		"a\x1b]0;title\x07b":    "ab",
		"a\x07\x00b":            `a\x07\x00b`,
		"a\u202eb\u2066c":       `a\u202eb\u2066c`,
		"a\u200eb\u200fc\u061c": `a\u200eb\u200fc\u061c`,
		"\xff":                  "·",
		"a\u2028b\u200bc":       `a\u2028b\u200bc`,
		"a\u0085b":              `a\u0085b`,
		"":                      "",
	} {
		if got := Clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
