package property

import (
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// begin takes the turn: it cancels the wait in progress and waits until that
// is out of the way.
func (c *collector) begin(ctx *simulator.Context) (*waiter, types.BaseMethodFault) {
	w := &waiter{canceled: make(chan struct{})}
	c.mu.Lock()
	if c.ended != nil {
		defer c.mu.Unlock()
		return nil, c.ended
	}
	c.cancelLocked(new(types.RequestCanceled))
	c.current = w
	c.mu.Unlock()

	select {
	case c.turn <- struct{}{}:
		return w, nil
	case <-w.canceled:
		return nil, w.fault
	case <-ctx.Done():
		c.retire(w)
		return nil, new(types.RequestCanceled)
	}
}

// finish gives the turn back.
func (c *collector) finish(w *waiter) {
	c.retire(w)
	<-c.turn
}

func (c *collector) retire(w *waiter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used = time.Now()
	if c.current == w {
		c.current = nil
	}
}

// begun judges the version of a request, and sees to it that changes are being
// noted before anything is read.
func (c *collector) begun(version string) (*types.UpdateSet, verdict) {
	c.mu.Lock()
	v := c.answers.judge(version)
	last := c.answers.last
	slept := c.asleep
	if v == unknown || v == again {
		c.mu.Unlock()
		return last, v
	}
	c.asleep = c.ended != nil
	c.mu.Unlock()

	c.service.listen(c)

	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case v == fresh:
		c.restart()
	case slept:
		for _, f := range c.filters {
			f.resync()
		}
	}
	return last, v
}

// answer hands out an update set. A wait that was canceled meanwhile answers
// all the same: whoever asks again with the same version gets the answer, too.
func (c *collector) answer(version string, set *types.UpdateSet) *types.UpdateSet {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answers.give(version, set)
}
