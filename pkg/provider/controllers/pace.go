package controllers

import (
	"context"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
)

// pace spaces out what is done about news: the first of it waits for debounce, so that what belongs together comes
// together; while it does not stop, the wait doubles up to floor.
type pace struct {
	debounce, floor time.Duration

	gap  time.Duration
	last time.Time
}

// wait waits until it is time to act on news that has just come; false when ctx ended first.
func (p *pace) wait(ctx context.Context) bool {
	if time.Since(p.last) > p.gap {
		p.gap = p.debounce
	} else {
		p.gap = min(2*p.gap, p.floor)
	}
	err := backoff.Sleep(ctx, p.gap)
	p.last = time.Now()
	return err == nil
}
