// Package signals ends the program in order when it is asked to, and at once only when a person insists.
//
// Floor 5.
package signals

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Context returns a context that ends with parent, with release, or with the first Ctrl-C, TERM or hang-up. After a Ctrl-C
// the next one has its ordinary effect: it ends the process on the spot. Nothing else does: a terminal that is closed sends
// hang-up twice, from the shell and from the kernel, and a service manager sends TERM and hang-up, and none of them knows
// what is still to be cleaned up. Where hang-up is ignored, as under nohup, it stays ignored.
//
// release gives all signals their ordinary effect back. It may be called more than once, and waits for nothing but the
// goroutine behind it.
func Context(parent context.Context) (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancel(parent)
	interrupts, others := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	signal.Notify(others, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(others, syscall.SIGHUP)
	}
	released := make(chan struct{})
	var listener sync.WaitGroup
	listener.Go(func() {
		for {
			select {
			case <-interrupts:
				cancel()
				signal.Stop(interrupts)
			case <-others:
				cancel()
			case <-released:
				return
			}
		}
	})
	return ctx, sync.OnceFunc(func() {
		signal.Stop(interrupts)
		signal.Stop(others)
		close(released)
		listener.Wait()
		cancel()
	})
}
