package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A step is never silent for five seconds.
func TestStepSpeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		if err := step(&said, "waiting", func() error { time.Sleep(10 * time.Second); return nil }); err != nil {
			t.Fatal(err)
		}
		const want = "waiting\n     4s  waiting\n     8s  waiting\n  done in 10.0s\n"
		if said.String() != want {
			t.Errorf("it said\n%s, want\n%s", said.String(), want)
		}
	})
}

func TestStepFails(t *testing.T) {
	var said bytes.Buffer
	wrong := errors.New("no room")
	err := step(&said, "packing", func() error { return wrong })
	if !errors.Is(err, wrong) || err.Error() != "packing: no room" {
		t.Errorf("error %v", err)
	}
	if strings.Contains(said.String(), "done") {
		t.Errorf("it said that it was done: %s", said.String())
	}
}

func TestCommandReportsWhatWentWrong(t *testing.T) {
	err := command(t.Context(), "", nil, "sh", "-c", "echo first; echo the disk is full >&2; exit 3")
	if err == nil || !strings.Contains(err.Error(), "the disk is full") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error %v", err)
	}
}

// What a program has started ends with it.
func TestCommandEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	err := command(ctx, "", nil, "sh", "-c", "sleep 60 & wait")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %v: the child of the program kept the pipe open", took)
	}
}

func TestTail(t *testing.T) {
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{{"", 2, ""}, {"a\n", 2, "a"}, {"a\nb\nc\n", 2, "b\nc"}} {
		if got := tail(tt.text, tt.n); got != tt.want {
			t.Errorf("tail(%q, %d) = %q, want %q", tt.text, tt.n, got, tt.want)
		}
	}
}
