package child

import "time"

// Backoff is the pause before a restart: Min after the first crash, doubled
// with every further one up to Max. A run that lasted Reset or longer counts as
// healthy: the crash after it is a first one again. A field that is 0 takes its
// default: 200 ms, 10 s, 30 s.
type Backoff struct {
	Min, Max, Reset time.Duration
}

func (b Backoff) withDefaults() Backoff {
	if b.Min <= 0 {
		b.Min = 200 * time.Millisecond
	}
	if b.Max <= 0 {
		b.Max = 10 * time.Second
	}
	b.Max = max(b.Min, b.Max)
	if b.Reset <= 0 {
		b.Reset = 30 * time.Second
	}
	return b
}

// next returns the pause after a run of length ran, given the pause before it
// (0 when there was none).
func (b Backoff) next(previous, ran time.Duration) time.Duration {
	if previous <= 0 || ran >= b.Reset {
		return b.Min
	}
	return min(2*previous, b.Max)
}
