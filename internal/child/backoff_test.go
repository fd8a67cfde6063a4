package child

import (
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	b := Backoff{}.withDefaults()
	tests := []struct {
		name                string
		previous, ran, want time.Duration
	}{
		{"first", 0, 0, 200 * time.Millisecond},
		{"doubled", 200 * time.Millisecond, time.Second, 400 * time.Millisecond},
		{"capped", 6400 * time.Millisecond, 0, 10 * time.Second},
		{"stays capped", 10 * time.Second, 29 * time.Second, 10 * time.Second},
		{"reset by a healthy run", 10 * time.Second, 30 * time.Second, 200 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := b.next(tt.previous, tt.ran); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	if b := (Backoff{Min: time.Minute}).withDefaults(); b.Max != time.Minute {
		t.Errorf("max is %v, below min", b.Max)
	}
}
