package trim

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// How FollowLoad measures: cycles of the collector in one look are load, and so many looks without any are none.
const (
	look       = time.Second
	busyCycles = 2
	idleLooks  = 5
)

// FollowLoad makes the garbage collector run less often while the process works: its percentage is busy from the first second with
// two collections on, and idle again after five seconds without one. A process that mostly idles then holds little garbage, and does not
// pay for that when many requests come. It returns when ctx ends. A GOGC in the environment stands.
func FollowLoad(ctx context.Context, idle, busy int) {
	if os.Getenv("GOGC") != "" {
		return
	}
	tick := time.NewTicker(look)
	defer tick.Stop()
	l := load{idle: idle, busy: busy, last: cycles()}
	for {
		select {
		case <-tick.C:
			if percent, changed := l.next(cycles()); changed {
				debug.SetGCPercent(percent)
			}
		case <-ctx.Done():
			return
		}
	}
}

// load decides the percentage.
type load struct {
	idle, busy int
	last       uint64 // cycles at the last look
	working    bool
	quiet      int // looks without a cycle, in a row
}

// next returns the percentage after a look that found so many cycles since the start, and whether it has changed.
func (l *load) next(cycles uint64) (percent int, changed bool) {
	was, n := l.working, cycles-l.last
	l.last = cycles
	if l.quiet++; n > 0 {
		l.quiet = 0
	}
	switch {
	case n >= busyCycles:
		l.working = true
	case l.quiet >= idleLooks:
		l.working = false
	}
	if l.working {
		return l.busy, !was
	}
	return l.idle, was
}

// cycles returns the number of collections that the runtime has started automatically.
func cycles() uint64 {
	sample := []metrics.Sample{{Name: "/gc/cycles/automatic:gc-cycles"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
