package text

import (
	"slices"
	"testing"
)

func TestWords(t *testing.T) {
	for _, tt := range []struct {
		s     string
		width int
		want  []string
	}{
		{"", 10, []string{""}},
		{"anything", 0, nil},
		{"node is cp-1", 11, []string{"node is", "cp-1"}},
		{"node is cp-1", 12, []string{"node is cp-1"}},
		{"  one   two ", 20, []string{"one two"}},
		{"a-very-long-name and more", 8, []string{"a-very-l", "ong-name", "and more"}},
		{"so a-very-long-name", 8, []string{"so", "a-very-l", "ong-name"}},
		{"abcdefgh", 4, []string{"abcd", "efgh"}},
		{"世界世界", 5, []string{"世界", "世界"}},
		{"世 a", 1, []string{"世", "a"}},
	} {
		if got := Words(tt.s, tt.width); !slices.Equal(got, tt.want) {
			t.Errorf("%q in %d: %q, want %q", tt.s, tt.width, got, tt.want)
		}
	}
}
