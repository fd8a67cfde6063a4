package topology

import "testing"

func TestNumber(t *testing.T) {
	for pattern, want := range map[string]string{
		"a-{n}": "a-7", "a-{nn}": "a-07", "{nnn}{n}": "0077", "{n": "{n", "{nx}": "{nx}", "a": "a", "{{n}}": "{7}",
		"{n{n}": "{n7", "{nnnnnnnnnn}": "{nnnnnnnnnn}", "": "",
	} {
		if got, _ := number(pattern, 7); got != want {
			t.Errorf("number(%q, 7) = %q, want %q", pattern, got, want)
		}
	}
}
