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

// Options say what the node is.
type Options struct {
	// NodeID is the VM's BIOS UUID; required.
	NodeID string
	// MaxVolumes is how many volumes the node takes; 0 for names.MaxVolumes, negative for no limit.
	MaxVolumes int64
	// Topology returns the node's segments. It is called at each NodeGetInfo, may wait until ctx ends, and may be called
	// concurrently. Nil: the node is in no topology.
	Topology func(context.Context) (map[string]string, error)
	// TopologyTimeout bounds it; 0 for a minute, as upstream.
	TopologyTimeout time.Duration
	// Timeout bounds every other call; 0 for two minutes, which is kubelet's.
	Timeout time.Duration
	Backend Backend      // required
	Logger  *slog.Logger // nil: none
}

// maxCalls is how many calls are worked on at once; more wait. Each may have to wait for its disk, so there are about as
// many as there can be disks.
const maxCalls = 64

// Server is the Node service. Make it with [New]; all methods may be called concurrently.
type Server struct {
	csi.UnimplementedNodeServer
	opts    Options
	volumes locks
	slots   chan struct{}
	calls   working
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

// Wait returns when nothing is being done to any volume, or ctx has ended.
func (s *Server) Wait(ctx context.Context) error { return s.calls.wait(ctx) }

// call is one of kubelet's calls.
type call struct {
	what, volume string
	// key, with the volume, is what calls exclude each other by. Only that of Stats is not empty: it does not wait for other
	// calls, but a file system that hangs gathers one of them, not one each minute.
	key string
}

// do works on a volume when nobody else does. It returns when f has, or ctx or the time for a call has ended; f then goes
// on by itself (a mount cannot be broken off) and the volume is nobody else's until it is done.
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
	s.calls.begin()
	go func() {
		defer s.calls.end()
		defer cancel()
		defer release()
		var r result
		defer func() {
			if p := recover(); p != nil { // on this goroutine nobody else would catch it
				s.opts.Logger.Error("call panicked", "call", c.what, "volume", c.volume, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				r.err = fmt.Errorf("a mistake of the driver, whose log has the stack: %v", p)
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
	case r := <-done: // it was done at that moment
		if r.err == nil {
			return r.value, nil
		}
		return none, failed(r.err, c)
	default:
		return none, failed(ctx.Err(), c)
	}
}

// take waits for the volume, and then for one of the slots.
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

// code is what kubelet does something different for. It takes Aborted, Canceled, DeadlineExceeded, Unavailable and
// ResourceExhausted for "perhaps it was done" and keeps the volume's directories; all others for "it was not done".
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

// failed is err as a status.
func failed(err error, c call) error {
	return status.Errorf(code(err), "%s volume %s: %v", c.what, c.volume, err)
}

// locks is a lock for each key that somebody holds or waits for. The zero value is ready.
type locks struct {
	mu   sync.Mutex
	keys map[string]*lock
}

type lock struct {
	held  chan struct{} // of capacity 1
	users int
}

// take returns when nobody else has the key. Error: volume.ErrPending when ctx ends before.
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
		return nil, fmt.Errorf("another operation on it: %w", volume.ErrPending)
	}
}

func (l *locks) leave(key string, k *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(l.keys, key)
	}
}

// working counts what is being done. Unlike a sync.WaitGroup it may be waited for, and given up on, while more begins. The
// zero value is ready.
type working struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n is 0 again; nil while nobody has asked
}

func (w *working) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
}

func (w *working) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n--; w.n == 0 && w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

// wait returns when nothing is being done, or with ctx's error.
func (w *working) wait(ctx context.Context) error {
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
