// Package background runs the goroutines of boot steps in named groups.
//
// Floor 3.
package background

import (
	"context"
	"maps"
	"sync"
)

// Groups runs goroutines in groups that are ended and waited for together. The zero value is ready to use, from any
// goroutine.
type Groups struct {
	mu     sync.Mutex
	groups map[string]*group
}

type group struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// Run starts f in the group of that name, unless that has been ended. Its context ends with the group, not with the
// boot.
func (b *Groups) Run(name string, f func(context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.groups[name]
	if g == nil {
		g = &group{}
		g.ctx, g.cancel = context.WithCancel(context.Background())
		if b.groups == nil {
			b.groups = map[string]*group{}
		}
		b.groups[name] = g
	}
	if g.ctx.Err() != nil {
		return
	}
	g.wg.Go(func() { f(g.ctx) })
}

// Reopen lets goroutines be started again in groups that have been ended. No group may be being ended.
func (b *Groups) Reopen() {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.groups, func(_ string, g *group) bool { return g.ctx.Err() != nil })
}

// End ends a group and waits for its goroutines, or for ctx.
func (b *Groups) End(ctx context.Context, name string) error {
	b.mu.Lock()
	g := b.groups[name]
	if g != nil {
		g.cancel()
	}
	b.mu.Unlock()
	if g == nil {
		return nil
	}
	done := make(chan struct{})
	go func() { g.wg.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
