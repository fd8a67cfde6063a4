// Package backoff waits between attempts that fail.
//
// Floor 0.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff is a pause that doubles from Min to Max while attempts fail.
type Backoff struct {
	Min, Max time.Duration
	// Jitter draws each pause from the upper half of its range, so that clients of a server that comes back do not all return
	// at once.
	Jitter bool
}

// After returns the pause after the given number of failures in a row, 1 for the first.
func (b Backoff) After(failures int) time.Duration {
	d := b.Min
	for range failures - 1 {
		if d *= 2; d >= b.Max {
			break
		}
	}
	d = min(d, b.Max)
	if b.Jitter {
		return d - rand.N(d/2+1)
	}
	return d
}

// Sleep returns nil after d, or early the error of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
