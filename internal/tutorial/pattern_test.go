package tutorial

import "testing"

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		want, got string
		is        bool
	}{
		{"", "", true},
		{"a", "a", true},
		{"a", "b", false},
		{"a", "ab", false},
		{"a   b", "a b", true},
		{"a b", "a      b  ", true},
		{"a b", "ab", false},
		{"  a", "a", false},
		{"…", "", true},
		{"…", "anything at all", true},
		{"ready in …s", "ready in 4.6s", true},
		{"ready in …s", "ready in 4.6m", false},
		{"…x", "xx", true},
		{"x…", "xx", true},
		{"a…a", "a", false},
		{"a…a", "aa", true},
		{"…a…b…", "1a2b3", true},
		{"…a…b…", "1b2a3", false},
		{"…b", "ab ab", true},
		{"no …", "no", false},
		{"a…b…c", "abbc", true},
	} {
		if got := matches(c.want, c.got); got != c.is {
			t.Errorf("%q and %q: %t, want %t", c.want, c.got, got, c.is)
		}
	}
}

func TestCompare(t *testing.T) {
	for name, c := range map[string]struct {
		want        []string
		got         string
		begins      bool
		wanted, has int
	}{
		"nothing":              {nil, "", false, -1, -1},
		"nothing wanted":       {nil, "x\n", false, 0, 0},
		"nothing there":        {[]string{"x"}, "", false, 0, 0},
		"empty lines at end":   {[]string{"x"}, "x\n\n  \n", false, -1, -1},
		"empty line within":    {[]string{"x", "y"}, "x\n\ny", false, 1, 1},
		"windows":              {[]string{"x", "y"}, "x\r\ny\r\n", false, -1, -1},
		"second differs":       {[]string{"x", "y"}, "x\nz", false, 1, 1},
		"too much":             {[]string{"x"}, "x\ny", false, 1, 1},
		"too much, begins":     {[]string{"x"}, "x\ny", true, -1, -1},
		"not yet, begins":      {[]string{"x", "y"}, "x\n", true, 1, 1},
		"gap of nothing":       {[]string{"x", "…", "y"}, "x\ny", false, -1, -1},
		"gap of many":          {[]string{"x", "…", "y"}, "x\n1\n2\ny", false, -1, -1},
		"gap takes the last":   {[]string{"…", "y"}, "y\n1\ny", false, -1, -1},
		"gap at the end":       {[]string{"x", "…"}, "x\n1\n2", false, -1, -1},
		"after the gap":        {[]string{"x", "…", "y"}, "x\n1\nz", false, 2, 1},
		"two gaps":             {[]string{"…", "a", "…", "b", "…"}, "1\na\n2\nb\n3", false, -1, -1},
		"two gaps, wrong turn": {[]string{"…", "b", "…", "a", "…"}, "1\na\n2\nb\n3", false, 3, 4},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, has := compare(lines(c.want), split(c.got), c.begins)
			if wanted != c.wanted || has != c.has {
				t.Errorf("got %d, %d, want %d, %d", wanted, has, c.wanted, c.has)
			}
		})
	}
}

func lines(texts []string) []Line {
	var all []Line
	for i, text := range texts {
		all = append(all, Line{i + 1, text})
	}
	return all
}
