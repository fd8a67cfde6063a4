package shell

import (
	"context"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

const (
	// A program may do so many steps at once, and so many a second. A step is a statement, or stepBytes that are moved.
	stepBurst = 20000
	stepRate  = 5000
	stepBytes = 16 << 10
	// memoryBytes, stackBytes and routines are by how much the kubelet's heap, stacks and goroutines may grow while a program runs.
	memoryBytes = 64 << 20
	stackBytes  = 8 << 20
	routines    = 512
	// checkEvery is the longest time between two looks at them.
	checkEvery = 250 * time.Millisecond
	// checkSoon is the shortest.
	checkSoon = time.Millisecond
)

// guard bounds a program. It ends its context when the program takes too much.
type guard struct {
	context.Context
	cancel context.CancelFunc
	begin  time.Time
	base   usage

	steps   atomic.Int64
	checked atomic.Int64 // when, in nanoseconds since begin
	memory  atomic.Bool
}

// newGuard returns a guard that is watched until end is called.
func newGuard(ctx context.Context) (g *guard, end func()) {
	g = &guard{begin: time.Now(), base: measure()}
	g.Context, g.cancel = context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(checkEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				g.check()
			case <-done:
				return
			}
		}
	}()
	return g, func() { g.cancel(); close(done) }
}

// guarded is the context that the interpreter asks before each statement whether it may proceed: it also waits there.
type guarded struct {
	context.Context
	g *guard
}

// Err implements context.Context.
func (c *guarded) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	c.g.step(c.Context, 1)
	return c.Context.Err()
}

// moved counts bytes, and waits until they may be moved. It returns the context's error.
func moved(ctx context.Context, bytes int) error {
	if c, ok := ctx.Value(guardKey{}).(*guard); ok {
		c.step(ctx, int64(1+bytes/stepBytes))
	}
	return ctx.Err()
}

// guardKey is the key of the guard in a context.
type guardKey struct{}

// Value implements context.Context.
func (c *guarded) Value(key any) any {
	if key == (guardKey{}) {
		return c.g
	}
	return c.Context.Value(key)
}

// step counts steps, and waits until they may be done.
func (g *guard) step(ctx context.Context, n int64) {
	done := g.steps.Add(n)
	since := time.Since(g.begin)
	if last := g.checked.Load(); since-time.Duration(last) > checkSoon && g.checked.CompareAndSwap(last, int64(since)) {
		g.check()
	}
	allowed := stepBurst + int64(since.Seconds()*stepRate)
	if done <= allowed {
		return
	}
	timer := time.NewTimer(time.Duration(done-allowed) * time.Second / stepRate)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// usage is what the process takes.
type usage struct{ bytes, stacks, routines uint64 }

func measure() usage {
	s := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/sched/goroutines:goroutines"},
	}
	metrics.Read(s)
	return usage{s[0].Value.Uint64(), s[1].Value.Uint64(), s[2].Value.Uint64()}
}

// check ends the program if the process has grown too much since it began.
func (g *guard) check() {
	now := measure()
	if now.bytes > g.base.bytes+memoryBytes || now.stacks > g.base.stacks+stackBytes {
		runtime.GC()
		now = measure()
	}
	if now.bytes > g.base.bytes+memoryBytes || now.stacks > g.base.stacks+stackBytes || now.routines > g.base.routines+routines {
		g.memory.Store(true)
		g.cancel()
	}
}
