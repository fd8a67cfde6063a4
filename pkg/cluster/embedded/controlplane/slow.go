package controlplane

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// slowness lets whoever asks etcd wait longer than they have to, as an etcd does whose disk is slow: every request, of
// which it may take any number at once. Watches are not requests: they tell of a change as soon as it is stored. The
// zero value adds nothing.
type slowness struct{ delay atomic.Int64 }

// set changes how long, for requests from now on.
func (s *slowness) set(d time.Duration) { s.delay.Store(int64(d)) }

// intercept is a [grpc.UnaryServerInterceptor].
func (s *slowness) intercept(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if d := time.Duration(s.delay.Load()); d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done(): // it was not waited for; nothing has been done
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
	return handle(ctx, req)
}
