package fault

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// lease is a [Lease] with what the engine needs to end it. The engine's lock guards the Lease; the rest belongs to the holder of
// busy.
type lease struct {
	Lease
	kind *Kind
	// busy is a lock, taken by sending, while the lease is applied or healed.
	busy    chan struct{}
	states  []json.RawMessage // of the targets, to revert them
	begun   []bool            // whether Apply was called
	trouble string            // the last reported error of healing it

	stop    context.CancelFunc // ends the runs
	running sync.WaitGroup

	timer   *time.Timer // ends it, or retries
	retries int
	healing uint64 // the event of the first attempt to heal it
}

// copy returns the lease as a value.
func (l *lease) copy() Lease {
	c := l.Lease
	c.Targets = slices.Clone(c.Targets)
	c.Params = maps.Clone(c.Params)
	return c
}

// take waits until the lease is free and takes it; release returns it.
func (l *lease) take(ctx context.Context) error {
	select {
	case l.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *lease) release() { <-l.busy }

// disarm stops the timer. The caller holds the engine's lock.
func (l *lease) disarm() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

// call returns the call of a step on target n; seq is its cause.
func (e *Engine) call(l *lease, n int, seq uint64) *Call {
	target := l.Targets[n].Target
	return &Call{
		Ground: e.ground, Target: target, Params: l.Params, Lease: l.ID,
		Rand: rand.New(rand.NewPCG(l.Seed, target.hash())), Seq: seq,
		turns: &e.turns,
	}
}

// key identifies a target.
func (i Item) key() string {
	id := i.Ref.Value + i.ID
	if id == "" {
		id = i.Region + "\x00" + i.Name
	}
	return string(i.Kind) + "\x00" + i.VCenter + "\x00" + id
}

// hash returns a hash of the target's name, which is stable between runs of a topology, unlike its reference.
func (i Item) hash() uint64 {
	h := fnv.New64a()
	for _, s := range []string{string(i.Kind), i.VCenter, i.Path, i.Region, i.Name} {
		_, _ = h.Write([]byte(s))
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64()
}

// each calls f for each target, a few at a time, and returns the errors by target. If untilError is set, it starts no further
// target after an error.
func (e *Engine) each(targets int, untilError bool, f func(n int) error) []error {
	errs := make([]error, targets)
	if targets == 1 {
		errs[0] = f(0)
		return errs
	}
	var mu sync.Mutex
	next, failed := 0, false
	var wg sync.WaitGroup
	for range min(e.opts.Parallel, targets) {
		wg.Go(func() {
			for {
				mu.Lock()
				n := next
				if n >= targets || failed && untilError {
					mu.Unlock()
					return
				}
				next++
				mu.Unlock()
				if errs[n] = f(n); errs[n] != nil {
					mu.Lock()
					failed = true
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return errs
}
