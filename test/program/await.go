package program

import (
	"context"
	"errors"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// Await waits until a condition holds, looking at every event, and fails the test with the world when it does not in time.
func (s *Sandbox) Await(what string, within time.Duration, holds func() bool) {
	s.home.T.Helper()
	ctx, cancel := context.WithTimeout(s.home.T.Context(), within)
	defer cancel()
	begin := time.Now()
	met := errors.New("met")
	for !holds() {
		// Some conditions change without an event; look again once a second in any case.
		step, stop := context.WithTimeout(ctx, time.Second)
		err := s.Client.Events(step, s.Last(), true, func(event.Event, uint64) error {
			if holds() {
				return met
			}
			return nil
		})
		if errors.Is(err, met) {
			stop()
			break
		}
		<-step.Done() // a sandbox that does not answer is not asked again at once
		stop()
		if ctx.Err() != nil {
			s.home.T.Fatalf("waited %s for: %s\n%s", within, what, s.World())
		}
	}
	s.home.T.Logf("%6.2fs  %s", time.Since(begin).Seconds(), what)
}
