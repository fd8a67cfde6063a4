package existing

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// Forward accepts connections and passes each on to one that dial makes, until ctx ends; it closes the listener, and returns
// when none of the connections is left. What dial says when it cannot goes to trouble, which may be nil.
func Forward(ctx context.Context, l net.Listener, dial func(context.Context) (net.Conn, error), trouble func(error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() }) // Accept tells
	defer stop()
	var open sync.WaitGroup
	defer open.Wait()
	defer cancel()
	for {
		near, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		open.Go(func() {
			far, err := dial(ctx)
			if err != nil {
				_ = near.Close() // whoever connected sees that
				if trouble != nil && ctx.Err() == nil {
					trouble(err)
				}
				return
			}
			splice(ctx, near, far)
		})
	}
}

// splice copies both ways until both sides have said all, one of them breaks, or ctx ends.
func splice(ctx context.Context, near, far net.Conn) {
	end := func() { _, _ = near.Close(), far.Close() } // of connections that may be broken
	stop := context.AfterFunc(ctx, end)
	defer stop()
	defer end()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			if _, err := io.Copy(way[1], way[0]); err != nil {
				end()
				return
			}
			if half, ok := way[1].(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
				end()
			}
		})
	}
	both.Wait()
}
