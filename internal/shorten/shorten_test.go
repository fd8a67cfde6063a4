package shorten_test

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
)

func TestLines(t *testing.T) {
	const said = "\n first \r\nsecond\nthird\n\n"
	for name, c := range map[string]struct{ got, want string }{
		"first":    {shorten.FirstLine(said), "first"},
		"first, 0": {shorten.FirstLine("\n"), ""},
		"last":     {shorten.LastLines(said, 1), "third"},
		"last 2":   {shorten.LastLines(said, 2), "second\nthird"},
		"last 9":   {shorten.LastLines("a\nb", 9), "a\nb"},
		"list":     {shorten.List([]string{"a", "b"}, 2), "a, b"},
		"one":      {shorten.Count(1, "host"), "1 host"},
		"none":     {shorten.Count(0, "host"), "0 hosts"},
		"longer":   {shorten.List([]string{"a", "b", "c"}, 2), "a, b and 1 more"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", name, c.got, c.want)
		}
	}
}
