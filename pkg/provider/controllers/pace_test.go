package controllers

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace{debounce: 100 * time.Millisecond, floor: time.Second}
		for _, tc := range []struct{ after, want time.Duration }{
			{0, 100 * time.Millisecond},
			{0, 200 * time.Millisecond},
			{50 * time.Millisecond, 400 * time.Millisecond},
			{0, 800 * time.Millisecond},
			{0, time.Second},
			{time.Second, time.Second},
			{2 * time.Second, 100 * time.Millisecond}, // it was quiet in between
			{101 * time.Millisecond, 100 * time.Millisecond},
		} {
			time.Sleep(tc.after)
			began := time.Now()
			if !p.wait(t.Context()) || time.Since(began) != tc.want {
				t.Errorf("after %s: %s, want %s", tc.after, time.Since(began), tc.want)
			}
		}
	})
}
