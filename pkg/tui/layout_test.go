package tui

import "testing"

// The parts of the screen lie below each other, as wide as it is, and leave nothing out.
func TestArrange(t *testing.T) {
	for _, tc := range []struct {
		width, height int
		small         bool
	}{
		{80, 24, false},
		{100, 30, false},
		{140, 45, false},
		{200, 60, false},
		{5000, 2000, false},
		{79, 24, true},
		{80, 23, true},
		{0, 0, true},
		{-1, -1, true},
	} {
		l := arrange(tc.width, tc.height)
		if l.small != tc.small {
			t.Errorf("%d×%d: small %t", tc.width, tc.height, l.small)
		}
		if tc.small {
			continue
		}
		y := 0
		for _, part := range []rect{l.header, l.tabs, l.body, l.foot} {
			if part.x != 0 || part.y != y || part.width != tc.width || part.height < 1 {
				t.Errorf("%d×%d: %+v, want it in line %d", tc.width, tc.height, part, y)
			}
			y += part.height
		}
		if y != tc.height {
			t.Errorf("%d×%d: %d lines", tc.width, tc.height, y)
		}
	}
}

// A box stands in the middle of the body, with its border within it, however large it wants to be.
func TestBox(t *testing.T) {
	l := arrange(80, 24)
	for _, tc := range []struct {
		width, height int
		want          rect
	}{
		{40, 9, rect{19, 7, 42, 11}},
		{1, 1, rect{38, 11, 3, 3}},
		{78, 19, rect{0, 2, 80, 21}},
		{1000, 1000, rect{0, 2, 80, 21}},
	} {
		if got := l.box(tc.width, tc.height); got != tc.want {
			t.Errorf("%d×%d: %+v, want %+v", tc.width, tc.height, got, tc.want)
		}
	}
}
