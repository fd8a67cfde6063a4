package store

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/cns"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

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
		s.opts.OnOperation(Operation{VCenter: vcenter, Name: name, Result: ErrorReason(*err), Duration: time.Since(began)})
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

// Options configure a [Store]. Clients and Cluster.ID are mandatory.
type Options struct {
	// Clients are the connections, one per vCenter; volumes and nodes refer to vCenters by their names. The caller runs them,
	// for longer than the store.
	Clients []*vcenter.Client
	Cluster Cluster
	// Nodes returns the cluster's nodes in one vCenter, for [Store.Volumes] and for errors about volumes in use. An error means
	// that the list may be incomplete. It must not block. nil means no nodes.
	Nodes func(vcenter string) ([]volume.Node, error)

	// NetPermissions are the rights of clients to mount new shares; all clients may read and write if empty.
	NetPermissions []volume.NetPermission

	// SnapshotLimit is the maximum number of snapshots per volume; 3 when zero. See [Store.SetSnapshotLimit].
	SnapshotLimit int
	// Page is the number of volumes or snapshots per query; 1,000 when zero.
	Page int
	// Calls is the maximum number of concurrent calls to one vCenter, not counting the long poll; 16 when zero.
	Calls int
	// Operations is the maximum number of concurrent operations; 2,000 when zero. More get [volume.ErrUnavailable].
	Operations int
	// OperationLimit is the timeout of an operation; 15 min when zero. Its task continues.
	OperationLimit time.Duration
	// TaskCheck is how long a task may have no news before it is read directly; 10 s when zero.
	TaskCheck time.Duration
	// PollWait is how long a vCenter may hold the long poll, in whole seconds; 30 s when zero.
	PollWait time.Duration
	// Grace is how long a call waits for a connection that was just lost, or not made yet; 3 s when zero.
	Grace time.Duration

	// OnOperation, if set, is called at the end of every operation. It must not block.
	OnOperation func(Operation)
	// OnCall, if set, is called for the calls to CNS, which the clients' OnCall does not see. It must not block.
	OnCall func(vcenterName string, call vcenter.Call)
	// Logger receives changes of state; discarded when nil.
	Logger *slog.Logger
}

// Cluster identifies the cluster in CNS's records.
type Cluster struct {
	// ID identifies the cluster's volumes. It must never change.
	ID string
	// Distribution is shown in the vSphere Client; often empty.
	Distribution string
	// Flavor is CNS's word for the kind of cluster; VANILLA when empty.
	Flavor string
}

// Operation describes one operation of a [Store].
type Operation struct {
	VCenter string // empty for several
	// Name is "create", "delete", "attach", "detach", "expand", "snapshot", "delete-snapshot", "snapshots", "volumes",
	// "attachments", "volume", "metadata", "register", "unregister", "protect" or "datastores".
	Name string
	// Result is "ok", or the [ErrorReason] of the error.
	Result   string
	Duration time.Duration
}

// withDefaults returns o with its defaults set.
func (o Options) withDefaults() Options {
	orDefault(&o.SnapshotLimit, 3)
	orDefault(&o.Page, 1000)
	orDefault(&o.Calls, 16)
	orDefault(&o.Operations, 2000)
	orDefault(&o.OperationLimit, 15*time.Minute)
	orDefault(&o.TaskCheck, 10*time.Second)
	orDefault(&o.PollWait, 30*time.Second)
	orDefault(&o.Grace, 3*time.Second)
	o.PollWait = max(o.PollWait.Truncate(time.Second), time.Second) // the protocol counts whole seconds; zero means "do not wait"
	if o.Nodes == nil {
		o.Nodes = func(string) ([]volume.Node, error) { return nil, nil }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func orDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// flights are the operations in progress: one at a time for each key, which is a volume id, or the name of a future volume.
type flights struct {
	mu     sync.Mutex
	by     map[string]*flight
	closed bool
}

type flight struct {
	what string        // identical operations have the same text
	done chan struct{} // closed when value and err are set
	// value and err are the outcome.
	value any
	err   error
}

// join starts an operation, or joins the identical one in progress, after different ones with the same key have ended. f runs
// with its own context, so that it continues when ctx ends; then join returns an error that wraps volume.ErrPending and ctx's.
func join[T any](ctx context.Context, s *Store, key, what string, f func(context.Context) (T, error)) (T, error) {
	var none T
	for {
		fl, err := s.flights.begin(s, key, what, func(ctx context.Context) (any, error) { return f(ctx) })
		if err != nil {
			return none, err
		}
		select {
		case <-fl.done:
		case <-ctx.Done():
			return none, fmt.Errorf("%s: %s: %w: %w", what, fl.what, volume.ErrPending, context.Cause(ctx))
		}
		if fl.what == what {
			value, _ := fl.value.(T)
			return value, fl.err
		}
	}
}

// begin returns the operation in progress, or a new one.
func (fs *flights) begin(s *Store, key, what string, f func(context.Context) (any, error)) (*flight, error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fl := fs.by[key]; fl != nil {
		return fl, nil
	}
	switch {
	case fs.closed:
		return nil, fmt.Errorf("%s: %w: the driver is shutting down", what, volume.ErrUnavailable)
	case len(fs.by) >= s.opts.Operations:
		return nil, fmt.Errorf("%s: %w: %d operations are in progress", what, volume.ErrUnavailable, len(fs.by))
	case fs.by == nil:
		fs.by = map[string]*flight{}
	}
	fl := &flight{what: what, done: make(chan struct{})}
	fs.by[key] = fl
	s.running.Go(func() {
		ctx, cancel := context.WithTimeout(s.ctx, s.opts.OperationLimit)
		defer cancel()
		fl.value, fl.err = recoverPanic(ctx, s, what, f)
		fs.mu.Lock()
		delete(fs.by, key)
		fs.mu.Unlock()
		close(fl.done)
	})
	return fl, nil
}

// recoverPanic converts a panic to the failure of one operation; otherwise it would end the process.
func recoverPanic(ctx context.Context, s *Store, what string, f func(context.Context) (any, error)) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.opts.Logger.Error("operation panicked", "operation", what, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			value, err = nil, fmt.Errorf("%s: bug in the driver, see its log for the stack: %v", what, p)
		}
	}()
	return f(ctx)
}

// close prevents new operations.
func (fs *flights) close() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.closed = true
}

type conn struct {
	client  *vcenter.Client
	opts    *Options
	log     *slog.Logger
	created time.Time
	end     context.CancelFunc // of its waiter for tasks; set by the store

	callSlots chan struct{}            // a semaphore for concurrent calls
	preparing chan struct{}            // of capacity 1: a lock for creating services
	services  atomic.Pointer[services] // of the newest session; nil before the first call
	tasks     *tasks
	updates   *updates
}

func newConn(client *vcenter.Client, o *Options) *conn {
	c := &conn{
		client: client, opts: o, log: o.Logger.With("vcenter", client.Name()), created: time.Now(),
		callSlots: make(chan struct{}, o.Calls), preparing: make(chan struct{}, 1),
	}
	c.tasks, c.updates = newTasks(c), newUpdates(c)
	return c
}

func (c *conn) name() string { return c.client.Name() }

// call makes one call. Its error is a *faultError if the vCenter refuses it, ctx's error if that has ended, and otherwise wraps
// volume.ErrUnavailable.
func (c *conn) call(ctx context.Context, f func(context.Context, *services) error) error {
	select {
	case c.callSlots <- struct{}{}:
		defer func() { <-c.callSlots }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := c.try(ctx, f)
	if errors.Is(err, vcenter.ErrNotConnected) && c.waitGrace(ctx) {
		err = c.try(ctx, f)
	}
	return err
}

// try makes one call on the current session, and creates the session's services first if needed.
func (c *conn) try(ctx context.Context, f func(context.Context, *services) error) (err error) {
	for range 3 { // the session may change in between
		if err = c.prepare(ctx); errors.Is(err, errNotPrepared) {
			continue
		}
		if err != nil {
			return err
		}
		err = c.exchange(ctx, func(ctx context.Context, s *vcenter.Session) error {
			svc := c.services.Load()
			if svc == nil || svc.session != s {
				return errNotPrepared
			}
			return f(ctx, svc)
		})
		if !errors.Is(err, errNotPrepared) {
			return err
		}
	}
	return err
}

// exchange is one exchange with the vCenter; its error is call's.
func (c *conn) exchange(ctx context.Context, f func(context.Context, *vcenter.Session) error) error {
	var met error // f's own error, because the returned one hides its type
	err := c.client.Do(ctx, func(ctx context.Context, s *vcenter.Session) error {
		met = f(ctx, s)
		return met
	})
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if met != nil {
		if e := fromSOAP(met); e != nil {
			if _, ended := e.fault.(*types.NotAuthenticated); !ended {
				return e
			}
		}
	}
	return fmt.Errorf("%w: %w", volume.ErrUnavailable, err)
}

// waitGrace waits for a connection for Grace after it was lost, or after the start.
func (c *conn) waitGrace(ctx context.Context) bool {
	lost := c.client.State().Since
	if lost.IsZero() {
		lost = c.created
	}
	ctx, cancel := context.WithDeadline(ctx, lost.Add(c.opts.Grace))
	defer cancel()
	_, err := c.client.Wait(ctx)
	return err == nil
}

// services are the endpoints of one vCenter that share one session. They are immutable.
type services struct {
	session *vcenter.Session
	vim     *vim25.Client
	cns     soap.RoundTripper // at /vsanHealth
	// user is the session's user, which CNS stores with the cluster's volumes.
	user string
}

// errNotPrepared reports that a new session has no services yet.
var errNotPrepared = errors.New("new session")

// prepare creates the services of the current session, if needed. It takes two exchanges, once per session.
func (c *conn) prepare(ctx context.Context) error {
	if c.prepared() {
		return nil
	}
	select {
	case c.preparing <- struct{}{}:
		defer func() { <-c.preparing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if c.prepared() {
		return nil
	}
	var svc *services
	err := c.exchange(ctx, func(ctx context.Context, s *vcenter.Session) error {
		endpoint := endpoint(s)
		svc = &services{session: s, vim: s.Vim, cns: c.observed(endpoint)}
		return useVersion(ctx, endpoint)
	})
	if err != nil {
		return err
	}
	err = c.exchange(ctx, func(ctx context.Context, s *vcenter.Session) error {
		if s != svc.session {
			return errNotPrepared
		}
		user, err := session.NewManager(s.Vim).UserSession(ctx)
		if user != nil {
			svc.user = user.UserName
		}
		return err
	})
	if err != nil {
		return err
	}
	c.services.Store(svc)
	return nil
}

func (c *conn) prepared() bool {
	s, err := c.client.Session()
	if err != nil {
		return false
	}
	svc := c.services.Load()
	return svc != nil && svc.session == s
}

// endpoint returns a client for CNS's path at the vCenter, with the session's cookie and connections.
func endpoint(s *vcenter.Session) *soap.Client {
	sc := s.Vim.NewServiceClient(cns.Path, cns.Namespace)
	sc.Transport = s.Vim.Transport // which retries rejected calls
	return sc
}

// useVersion reads the API version that the vCenter supports at /vsanHealth. Without one, the version of the vim API is used.
func useVersion(ctx context.Context, sc *soap.Client) error {
	u := sc.URL()
	u.Path = "/sdk/vsanServiceVersions.xml"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), nil)
	if err != nil {
		return err
	}
	var versions struct {
		Namespace string `xml:"namespace>name"`
		Version   string `xml:"namespace>version"`
	}
	err = sc.Do(ctx, req, func(res *http.Response) error {
		if res.StatusCode == http.StatusNotFound {
			return nil
		}
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", u.Path, res.Status)
		}
		return xml.NewDecoder(res.Body).Decode(&versions)
	})
	if err != nil {
		return err
	}
	if versions.Namespace != "" {
		sc.Namespace, sc.Version = versions.Namespace, versions.Version
	}
	return nil
}
