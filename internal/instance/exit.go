package instance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// zombiePatience is how long a process that has ended may wait for its parent to take note. Some inits of containers and small
// virtual machines only look every second or so, and some never do.
const zombiePatience = 2 * time.Second

// Observe returns the running process of that number, with its start where the system has it.
func Observe(pid int) Process { return Process{PID: pid, Start: startOf(pid)} }

// AwaitExit waits until a process of [Observe] is gone, from the list of processes, too. It does not kill it; the error is
// that of ctx.
func AwaitExit(ctx context.Context, p Process) error {
	if p.PID <= 0 {
		return nil
	}
	was := observed{pid: p.PID, start: p.Start}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var ended time.Time
	for {
		switch {
		case errors.Is(unix.Kill(p.PID, 0), unix.ESRCH):
			return nil
		case was.alive() && p.Start != "":
			ended = time.Time{}
		case p.Start == "": // it cannot be distinguished from a later one, nor from a zombie
		case startOf(p.PID) != "": // another process has the number by now
			return nil
		case ended.IsZero():
			ended = time.Now()
		case time.Since(ended) > zombiePatience:
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("process %d has not ended: %w", p.PID, context.Cause(ctx))
		}
	}
}
