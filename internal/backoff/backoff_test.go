package backoff_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
)

func TestAfter(t *testing.T) {
	b := backoff.Backoff{Min: time.Second, Max: 5 * time.Second}
	j := b
	j.Jitter = true
	for failures, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 4: 5 * time.Second, 1_000_000_000: 5 * time.Second} {
		if got := b.After(failures); got != want {
			t.Errorf("%v after %d failures, want %v", got, failures, want)
		}
		for range 100 {
			if got := j.After(failures); got > want || got < want/2 {
				t.Errorf("%v after %d failures, want a little less than %v", got, failures, want)
			}
		}
	}
	if d := (backoff.Backoff{Min: 2, Max: 1}).After(1); d != 1 {
		t.Error(d)
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if err := backoff.Sleep(t.Context(), time.Minute); err != nil || time.Since(begin) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := backoff.Sleep(ctx, time.Minute); !errors.Is(err, context.Canceled) || time.Since(begin) != 61*time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}
