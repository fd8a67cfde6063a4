package iostreams

import (
	"context"
	"errors"
	"io"
	"testing"
)

func TestInteractiveNeedsBothEnds(t *testing.T) {
	s, _, _, _ := Test()
	for _, tc := range []struct{ in, out, err, want bool }{
		{false, false, false, false},
		{true, true, false, false},
		{false, true, true, false},
		{true, false, true, true},
	} {
		s.SetTTY(tc.in, tc.out, tc.err)
		if got := s.Interactive(); got != tc.want {
			t.Errorf("in %v out %v err %v: interactive = %v", tc.in, tc.out, tc.err, got)
		}
		if s.OutTTY() != tc.out || s.ErrTTY() != tc.err {
			t.Errorf("out %v err %v: got %v %v", tc.out, tc.err, s.OutTTY(), s.ErrTTY())
		}
	}
}

func TestConfirm(t *testing.T) {
	for _, tc := range []struct {
		typed string
		want  bool
		left  string
	}{
		{"y\n", true, ""},
		{"YES\nmore", true, "more"},
		{"n\n", false, ""},
		{"\n", false, ""},
		{"yess\n", false, ""},
		{"", false, ""},
		{"y", true, ""},
	} {
		s, in, _, stderr := Test()
		in.WriteString(tc.typed)
		got, err := s.Confirm(t.Context(), "Destroy it?")
		if got != tc.want || err != nil {
			t.Errorf("%q: %v, %v; want %v", tc.typed, got, err, tc.want)
		}
		if left, _ := io.ReadAll(in); string(left) != tc.left {
			t.Errorf("%q: left %q, want %q", tc.typed, left, tc.left)
		}
		if got := stderr.String(); got[:len("Destroy it? [y/N] ")] != "Destroy it? [y/N] " {
			t.Errorf("asked %q", got)
		}
	}
}

func TestConfirmIsInterrupted(t *testing.T) {
	s, _, _, _ := Test()
	r, w := io.Pipe()
	defer w.Close()
	s.In = r
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Confirm(ctx, "Destroy it?"); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

func TestSystemHasStreams(t *testing.T) {
	if s := System(); s.In == nil || s.Out == nil || s.Err == nil {
		t.Errorf("streams = %+v", s)
	}
}
