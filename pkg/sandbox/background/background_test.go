package background

import (
	"context"
	"errors"
	"testing"
)

func TestBackground(t *testing.T) {
	var b Groups
	if err := b.End(t.Context(), "none"); err != nil {
		t.Errorf("the end of a group that never was: %v", err)
	}
	ended := make(chan string, 3)
	wait := func(name string) func(context.Context) {
		return func(ctx context.Context) { <-ctx.Done(); ended <- name }
	}
	b.Run("a", wait("a1"))
	b.Run("a", wait("a2"))
	b.Run("b", wait("b"))
	if err := b.End(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if n := len(ended); n != 2 {
		t.Fatalf("%d goroutines have ended, want those of the group", n)
	}
	b.Run("a", func(context.Context) { t.Error("started in a group that has been ended") })
	for range 2 {
		if err := b.End(t.Context(), "a"); err != nil {
			t.Errorf("again: %v", err)
		}
	}
	if err := b.End(t.Context(), "b"); err != nil || len(ended) != 3 {
		t.Errorf("%v, %d ended", err, len(ended))
	}
}

func TestBackgroundEndIsBounded(t *testing.T) {
	var b Groups
	release := make(chan struct{})
	b.Run("stuck", func(context.Context) { <-release })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.End(ctx, "stuck"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(release)
	if err := b.End(t.Context(), "stuck"); err != nil {
		t.Error(err)
	}
}

func TestReopen(t *testing.T) {
	var b Groups
	b.Run("ended", func(ctx context.Context) { <-ctx.Done() })
	running := make(chan struct{})
	b.Run("running", func(ctx context.Context) { close(running); <-ctx.Done() })
	<-running
	if err := b.End(t.Context(), "ended"); err != nil {
		t.Fatal(err)
	}
	b.Reopen()
	again := make(chan struct{})
	b.Run("ended", func(context.Context) { close(again) })
	<-again
	for _, name := range []string{"ended", "running"} {
		if err := b.End(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
}
