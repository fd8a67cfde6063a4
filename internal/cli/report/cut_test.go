package report

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// An error that quotes what is in a file is no longer than a person reads, in any format, and is text.
func TestLinesAreCut(t *testing.T) {
	for _, value := range []string{strings.Repeat("x", 200_000), strings.Repeat("名", 70_000), strings.Repeat("a\u202e", 50_000), strings.Repeat("\xff.", 9_000)} {
		err := &Error{Message: "unit " + value + " is none", Err: errors.New("why: " + value + ": the reason"), Try: "mend " + value + "\nor not"}
		for _, format := range []string{"", "json", "yaml"} {
			var b strings.Builder
			if err := Write(&b, format, Of(err)); err != nil {
				t.Fatal(err)
			}
			if format == "json" {
				var got envelope
				if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
					t.Fatal(err)
				}
				b.Reset()
				b.WriteString(got.Error.Message + "\n" + got.Error.Why + "\n" + got.Error.Try)
			}
			for line := range strings.SplitSeq(b.String(), "\n") {
				if format != "yaml" && len(line) > 2048 { // where a line is folded and escaped
					t.Errorf("%s: a line of %d bytes", format, len(line))
				}
				if format == "" && strings.Contains(line, "\ufffd") {
					t.Errorf("cut within a character: %q", line)
				}
			}
			if b.Len() > 20_000 || !utf8.ValidString(b.String()) || !strings.Contains(b.String(), "bytes in all") || !strings.Contains(b.String(), "or not") {
				t.Errorf("%q: %d bytes: %.200q", format, b.Len(), b.String())
			}
		}
	}
	if got := cut(strings.Repeat("x", MaxLine)); len(got) != MaxLine {
		t.Error("what is not too long was cut")
	}
	if got := cut("head " + strings.Repeat("x", MaxLine) + " tail"); len(got) > MaxLine || !strings.HasPrefix(got, "head x") || !strings.HasSuffix(got, "x tail") ||
		!strings.Contains(got, "[…2010 bytes in all…]") {
		t.Errorf("%q", got)
	}
}

// Names of elsewhere do nothing to the terminal that an error is printed on.
func TestErrorsAreEscaped(t *testing.T) {
	var b strings.Builder
	err := &Error{Message: "vm \"a\u202eb\"\nsecond line", Err: errors.New("\u009b31m\x1b[2J\u2028\u200b\xff"), Try: "kill\x07"}
	if err := Write(&b, "", Of(err)); err != nil {
		t.Fatal(err)
	}
	want := "error: vm \"a\\u202eb\"\nsecond line: \\u009b31m\\x1b[2J\\u2028\\u200b\\xff\ntry: kill\\x07\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
