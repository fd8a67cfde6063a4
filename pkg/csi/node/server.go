package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
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
