package vcenter

import (
	"math/rand/v2"
	"time"
)

// Backoff is a pause that doubles from Min to Max while attempts fail. Each pause is drawn from the upper half of its
// range, so that the clients of a vCenter that comes back do not all return at once.
type Backoff struct {
	Min, Max time.Duration
}

// pause returns the pause after the given number of failures in a row, 1 for the first.
func (b Backoff) pause(failures int) time.Duration {
	d := b.Min
	for range failures - 1 {
		if d *= 2; d >= b.Max {
			break
		}
	}
	d = min(d, b.Max)
	return d - rand.N(d/2+1)
}
