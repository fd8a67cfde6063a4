package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// Store is the CNS of all configured vCenters. Create it with [New] and stop it with [Store.Close]; all methods are safe for
// concurrent use.
type Store struct {
	opts  Options
	limit atomic.Int64 // snapshots per volume
	inUse atomic.Pointer[[]*conn]
	set   sync.Mutex // serializes Set

	locations locations
	attempts  attempts
	flights   flights

	ctx     context.Context // ends with Close
	end     context.CancelFunc
	running sync.WaitGroup // task waiters and operations
}

var _ volume.Store = (*Store)(nil)

// New returns a store and starts a task waiter per vCenter, which makes no call while there are no tasks.
func New(o Options) *Store {
	s := &Store{opts: o.withDefaults()}
	s.limit.Store(int64(s.opts.SnapshotLimit))
	s.ctx, s.end = context.WithCancel(context.Background()) // operations outlive their callers
	s.inUse.Store(&[]*conn{})
	s.Set(o.Clients)
	return s
}

// Set replaces the connections. Operations at a vCenter that is no longer among them fail; those at a vCenter with the same
// client continue.
func (s *Store) Set(clients []*vcenter.Client) {
	s.set.Lock()
	defer s.set.Unlock()
	old := s.conns()
	var conns []*conn
	for _, client := range clients {
		i := slices.IndexFunc(old, func(c *conn) bool { return c.client == client })
		if i >= 0 {
			conns = append(conns, old[i])
			continue
		}
		c := newConn(client, &s.opts)
		conns = append(conns, c)
		var ctx context.Context
		ctx, c.end = context.WithCancel(s.ctx)
		s.running.Go(func() { c.tasks.run(ctx) })
	}
	s.inUse.Store(&conns)
	for _, c := range old {
		if !slices.Contains(conns, c) {
			c.end()
		}
	}
}

// conns returns the vCenters; the list must not be modified.
func (s *Store) conns() []*conn { return *s.inUse.Load() }

// Close ends the operations in this process, not in the vCenters, and waits for everything that the store has started. It
// returns within one call's timeout. The store must not be used afterwards.
func (s *Store) Close() {
	s.set.Lock()
	defer s.set.Unlock()
	s.flights.close()
	s.end()
	s.running.Wait()
}

// SetSnapshotLimit changes the maximum number of snapshots per volume for new ones.
func (s *Store) SetSnapshotLimit(n int) { s.limit.Store(int64(n)) }

func (s *Store) conn(name string) (*conn, error) {
	for _, c := range s.conns() {
		if c.name() == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("vcenter %q: %w: not configured", name, volume.ErrUnavailable)
}

// observe reports an operation; it is deferred with the start time.
func (s *Store) observe(vcenter, name string, began time.Time, err *error) {
	if s.opts.OnOperation != nil {
		s.opts.OnOperation(Operation{VCenter: vcenter, Name: name, Result: Reason(*err), Duration: time.Since(began)})
	}
}

// each runs f for every vCenter concurrently, and returns the results in order.
func each[T any](conns []*conn, f func(*conn) (T, error)) ([]T, []error) {
	found, errs := make([]T, len(conns)), make([]error, len(conns))
	var all sync.WaitGroup
	for i, c := range conns {
		all.Go(func() { found[i], errs[i] = f(c) })
	}
	all.Wait()
	return found, errs
}

// wrapError wraps an error with the vCenter and the operation.
func wrapError(c *conn, err *error, format string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf("vcenter %q: %s: %w", c.name(), fmt.Sprintf(format, args...), *err)
	}
}

// outcomeUnknown reports whether err leaves the outcome of a call open.
func outcomeUnknown(err error) bool {
	return errors.Is(err, volume.ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
