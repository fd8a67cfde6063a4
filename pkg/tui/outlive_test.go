package tui

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"runtime"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// TestNothingOutlives: after the UI ends, neither the stream nor an open log continues.
func TestNothingOutlives(t *testing.T) {
	opened := make(chan struct{}, 1000)
	in, keys := io.Pipe()
	defer keys.Close()
	o := Options{
		Sandbox: &fake{upTo: calm}, Theme: "mono", Input: in, Output: io.Discard, Environ: []string{"TERM=xterm-256color"},
		Logs: func(ctx context.Context, _ string, _ func([]string)) error {
			opened <- struct{}{}
			<-ctx.Done()
			return nil
		},
	}
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_, err := run(ctx, NewModel(ctx, o), tea.WithWindowSize(100, 30))
		done <- err
	}()
	for limit, tick, open := time.After(20*time.Second), time.Tick(100*time.Millisecond), false; !open; {
		select {
		case <-tick: // until it reads keys
			if _, err := keys.Write([]byte(":logs ccm\r")); err != nil {
				t.Fatal(err)
			}
		case <-opened:
			open = true
		case <-limit:
			t.Fatal("no log is opened")
		}
	}
	if ours() == "" {
		t.Error("nothing of it is seen while it runs")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for limit := time.Now().Add(30 * time.Second); ours() != ""; runtime.Gosched() {
		if time.Now().After(limit) {
			t.Fatalf("it goes on:\n%s", ours())
		}
	}
}

// ours is the stack of a goroutine that feeds a UI; "" for none.
func ours() string {
	all := make([]byte, 1<<20)
	all = all[:runtime.Stack(all, true)]
	feeds := regexp.MustCompile(`pkg/tui\.(feed|listen|\(\*Model\)\.follow|nextLines)\b`)
	for one := range bytes.SplitSeq(all, []byte("\n\n")) {
		if feeds.Match(one) {
			return string(one)
		}
	}
	return ""
}
