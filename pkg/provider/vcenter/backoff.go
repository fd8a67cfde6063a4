package vcenter

import (
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
)

// Backoff is a pause that doubles from Min to Max while attempts fail. Each pause is randomized within the upper half of
// its range, so that the clients of a vCenter that comes back do not all reconnect at once.
type Backoff struct {
	Min, Max time.Duration
}

// pause returns the pause after the given number of consecutive failures, 1 for the first.
func (b Backoff) pause(failures int) time.Duration {
	return backoff.Backoff{Min: b.Min, Max: b.Max, Jitter: true}.After(failures)
}
