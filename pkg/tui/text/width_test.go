package text

import (
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// What is measured quickly is as wide as it would be measured slowly, also beside anything else.
func TestQuick(t *testing.T) {
	const runes = "aZ09 ~\t\n\x7f\x1b\u00a0é世👍\u0301\ufe0f\u200d\u202e─│▎▇█●◐✗○≠↳▾▸▶‖…·→↓“”×–"
	parts := []string{"\x1b[m", "\x1b[1;38;5;117m", "\x1b[4", "\x1b[2K", "\x1b]8;;x\x07", "worker-1", "\xff"}
	for _, r := range runes {
		parts = append(parts, string(r))
	}
	for _, a := range parts {
		for _, b := range parts {
			for _, c := range []string{"", "x", "\u0301", "\x1b[m"} {
				s := a + b + c
				if got, want := Width(s), ansi.StringWidth(s); got != want {
					t.Errorf("Width(%q) = %d, want %d", s, got, want)
				}
			}
		}
	}
	for _, s := range []string{"", "worker-1", "\x1b[1;4mab\x1b[m", "● Ready │ ▎x…"} {
		if _, ok := quick(s); !ok {
			t.Errorf("%q is measured slowly", s)
		}
	}
}

func TestFitExactly(t *testing.T) {
	for _, s := range []string{"", "worker-us-west-1", "世界世界", "\x1b[1mworker-us\x1b[m-1", "a● │b…", "👍👍👍", "x\u0301y"} {
		for width := range 20 {
			for _, got := range []string{Fit(s, width), Right(s, width)} {
				if n := ansi.StringWidth(got); n != width {
					t.Errorf("%q in %d cells is %q, of %d", s, width, got, n)
				}
			}
			if got, want := Cut(s, width), ansi.Truncate(s, width, "…"); width > 0 && ansi.StringWidth(s) > width && got != want {
				t.Errorf("Cut(%q, %d) = %q, want %q", s, width, got, want)
			}
		}
	}
}

func BenchmarkFit(b *testing.B) {
	for name, s := range map[string]string{"plain": "worker-us-west-0001", "glyph": " ● Ready", "styled": "\x1b[1;38;5;117mworker-1\x1b[m ● on"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Fit(s, 30)
				Fit(s, 6)
			}
		})
	}
}
