package nodeimage

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// beat is how often something is said while one thing takes its time.
const beat = 4 * time.Second

// saying does something, and says what: at its beginning, and while it goes on.
func (f Finder) saying(ctx context.Context, what string, do func(context.Context) error) error {
	if f.Say == nil {
		return do(ctx)
	}
	begin, done := time.Now(), make(chan struct{})
	f.Say(what)
	var ticking sync.WaitGroup
	ticking.Go(func() {
		tick := time.NewTicker(beat)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				f.Say(fmt.Sprintf("%s (%.0f s)", what, time.Since(begin).Seconds()))
			}
		}
	})
	err := do(ctx)
	close(done)
	ticking.Wait()
	return err
}
