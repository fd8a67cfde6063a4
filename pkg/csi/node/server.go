package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Options configure a [Server].
type Options struct {
	// NodeID is the VM's BIOS UUID; required.
	NodeID string
	// MaxVolumes is the maximum number of volumes; names.MaxVolumes when zero, no limit when negative.
	MaxVolumes int64
	// Topology returns the node's segments. It is called at each NodeGetInfo, may wait until ctx ends, and must be safe for
	// concurrent use. Nil: the node has no topology.
	Topology func(context.Context) (map[string]string, error)
	// TopologyTimeout bounds Topology; a minute when zero, as upstream.
	TopologyTimeout time.Duration
	// Timeout bounds every other call; two minutes when zero, which is kubelet's.
	Timeout time.Duration
	Backend Backend      // required
	Logger  *slog.Logger // discarded when nil
}

// maxCalls is the number of concurrent calls; more wait. Each may wait for its disk, so it is about the maximum number of disks.
const maxCalls = 64

// Server is the Node service. Create it with [New]; all methods are safe for concurrent use.
type Server struct {
	csi.UnimplementedNodeServer
	opts       Options
	volumes    locks
	slots      chan struct{}
	operations operations
}

var _ csi.NodeServer = (*Server)(nil)

// New returns the service of a node.
func New(o Options) (*Server, error) {
	if o.NodeID == "" {
		return nil, errors.New("csi node: no node id")
	}
	if o.Backend == nil {
		return nil, errors.New("csi node: no backend")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.MaxVolumes = cmp.Or(o.MaxVolumes, names.MaxVolumes)
	o.TopologyTimeout = cmp.Or(o.TopologyTimeout, time.Minute)
	o.Timeout = cmp.Or(o.Timeout, 2*time.Minute)
	return &Server{opts: o, slots: make(chan struct{}, maxCalls)}, nil
}

// Wait returns when no operation on a volume is running, or ctx has ended.
func (s *Server) Wait(ctx context.Context) error { return s.operations.wait(ctx) }

// call is one call from kubelet.
type call struct {
	what, volume string
	// key, with the volume, excludes concurrent calls. Only that of Stats is not empty: it does not wait for other calls, but on
	// a file system that hangs, only one of them is blocked instead of one per minute.
	key string
}

// do runs f exclusively for a volume. It returns when f has returned, or ctx or the timeout has ended. In the latter case f
// continues, because a mount cannot be canceled, and the volume stays locked until it returns.
func do[T any](ctx context.Context, s *Server, c call, f func(context.Context) (T, error)) (T, error) {
	var none T
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	release, err := s.take(ctx, c.key+c.volume)
	if err != nil {
		cancel()
		return none, failed(err, c)
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	s.operations.begin()
	go func() {
		defer s.operations.end()
		defer cancel()
		defer release()
		var r result
		defer func() {
			if p := recover(); p != nil { // otherwise it would end the process
				s.opts.Logger.Error("call panicked", "call", c.what, "volume", c.volume, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				r.err = fmt.Errorf("bug in the driver, see its log for the stack: %v", p)
			}
			done <- r
		}()
		r.value, r.err = f(ctx)
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return none, failed(r.err, c)
		}
		return r.value, nil
	case <-ctx.Done():
	}
	select {
	case r := <-done: // it has just returned
		if r.err == nil {
			return r.value, nil
		}
		return none, failed(r.err, c)
	default:
		return none, failed(ctx.Err(), c)
	}
}

// take waits for the lock of the volume, and then for one of the slots.
func (s *Server) take(ctx context.Context, key string) (release func(), err error) {
	free, err := s.volumes.take(ctx, key)
	if err != nil {
		return nil, err
	}
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots; free() }, nil
	case <-ctx.Done():
		free()
		return nil, ctx.Err()
	}
}

// code returns the gRPC code of err. Kubelet treats Aborted, Canceled, DeadlineExceeded, Unavailable and ResourceExhausted as an
// unknown outcome and keeps the volume's directories, and all others as not done.
func code(err error) codes.Code {
	for _, c := range []struct {
		err  error
		code codes.Code
	}{
		{volume.ErrPending, codes.Aborted},
		{volume.ErrUnavailable, codes.Unavailable},
		{context.DeadlineExceeded, codes.DeadlineExceeded},
		{context.Canceled, codes.Canceled},
		{volume.ErrInvalid, codes.InvalidArgument},
		{volume.ErrExists, codes.AlreadyExists},
		{volume.ErrState, codes.FailedPrecondition},
		{volume.ErrInUse, codes.FailedPrecondition},
		{volume.ErrNotSupported, codes.FailedPrecondition},
		{volume.ErrNotFound, codes.NotFound},
	} {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return codes.Internal
}

func failed(err error, c call) error {
	return status.Errorf(code(err), "%s volume %s: %v", c.what, c.volume, err)
}

// locks has a lock for each key in use. The zero value is ready to use.
type locks struct {
	mu   sync.Mutex
	keys map[string]*lock
}

type lock struct {
	held  chan struct{} // of capacity 1
	users int
}

// take locks the key. Error: volume.ErrPending if ctx ends before.
func (l *locks) take(ctx context.Context, key string) (release func(), err error) {
	l.mu.Lock()
	if l.keys == nil {
		l.keys = map[string]*lock{}
	}
	k := l.keys[key]
	if k == nil {
		k = &lock{held: make(chan struct{}, 1)}
		l.keys[key] = k
	}
	k.users++
	l.mu.Unlock()

	select {
	case k.held <- struct{}{}:
		return func() { <-k.held; l.leave(key, k) }, nil
	case <-ctx.Done():
		l.leave(key, k)
		return nil, fmt.Errorf("another operation on the volume is running: %w", volume.ErrPending)
	}
}

func (l *locks) leave(key string, k *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(l.keys, key)
	}
}

// operations counts running operations. Unlike a sync.WaitGroup, wait can time out, and operations may start during it. The zero
// value is ready to use.
type operations struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n becomes 0; nil if no call waits
}

func (w *operations) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
}

func (w *operations) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n--; w.n == 0 && w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

// wait returns when no operation is running, or with ctx's error.
func (w *operations) wait(ctx context.Context) error {
	w.mu.Lock()
	if w.n == 0 {
		w.mu.Unlock()
		return nil
	}
	if w.idle == nil {
		w.idle = make(chan struct{})
	}
	idle := w.idle
	w.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
