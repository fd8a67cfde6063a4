// Package follow keeps the objects of one resource of a Supervisor's namespace current in memory.
//
// It watches where the guest cluster's service account may, and otherwise lists in a period: the role that a Supervisor gives to
// a guest cluster has long had no watch on virtual machines. [Store.Current] reports whether the objects are known to be current,
// so that a caller can tell an object that is gone from one that is not seen.
//
// Floor 1: beside pkg/provider, which it does not import.
package follow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/supervisor"
)

// Object is a pointer to a type of object.
type Object[T any] interface {
	*T
	GetUID() types.UID
	GetResourceVersion() string
}

// Config configures a [Store].
type Config[T any] struct {
	Connection *supervisor.Connection
	Resource   supervisor.Resource
	Namespace  string
	// Period is how often the objects are listed where a watch is not allowed; 5 s when zero.
	Period time.Duration
	// OnChange, if set, is called after a change, in order, from one goroutine: before is nil for a new object, after for one that
	// is gone. witnessed reports that the Supervisor reported the deletion, rather than that a list no longer has the object.
	OnChange func(before, after *T, witnessed bool)
	// Prepare, if set, is called with each object before it is stored.
	Prepare func(*T)
	Logger  *slog.Logger
}

// Store has the objects. Create it with [New] and call [Store.Run]. The other methods are safe for concurrent use. Objects must
// not be modified.
type Store[T any, P Object[T]] struct {
	cfg Config[T]

	mu      sync.RWMutex
	objects map[types.UID]*T
	doubt   error // nil while the objects are current
	tried   chan struct{}
	once    sync.Once
}

// ErrNotSynced reports that the objects have not been read yet.
var ErrNotSynced = errors.New("not read yet")

// New returns a Store without objects.
func New[T any, P Object[T]](cfg Config[T]) *Store[T, P] {
	if cfg.Period == 0 {
		cfg.Period = 5 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Store[T, P]{
		cfg: cfg, objects: map[types.UID]*T{}, tried: make(chan struct{}),
		doubt: fmt.Errorf("%s in namespace %q: %w", cfg.Resource.Name, cfg.Namespace, ErrNotSynced),
	}
}

// Namespace returns the namespace of the objects.
func (s *Store[T, P]) Namespace() string { return s.cfg.Namespace }

// Tried is closed when the objects have been read, or the first attempt has failed.
func (s *Store[T, P]) Tried() <-chan struct{} { return s.tried }

// Current returns nil while the objects are current, else why they may not be.
func (s *Store[T, P]) Current() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.doubt
}

// Each calls f for each object until f returns false.
func (s *Store[T, P]) Each(f func(*T) bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, o := range s.objects {
		if !f(o) {
			return
		}
	}
}

// Run keeps the objects current until ctx ends.
func (s *Store[T, P]) Run(ctx context.Context) {
	pause := backoff.Backoff{Min: 200 * time.Millisecond, Max: 30 * time.Second, Jitter: true}
	failures := 0
	watching := true
	for ctx.Err() == nil {
		version, err := s.list(ctx)
		listed := err == nil
		if listed {
			s.once.Do(func() { close(s.tried) })
			failures = 0
			err = s.watch(ctx, version)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil || errors.Is(err, supervisor.ErrExpired):
			continue
		case listed && errors.Is(err, supervisor.ErrForbidden):
			if watching {
				s.cfg.Logger.Info("no right to watch: listing instead", "resource", s.cfg.Resource.String(), "namespace", s.cfg.Namespace, "period", s.cfg.Period)
			}
			watching = false
			_ = backoff.Sleep(ctx, s.cfg.Period) // the loop ends with ctx
			continue
		}
		failures++
		s.fail(err, failures == 1)
		s.once.Do(func() { close(s.tried) }) // after the error is recorded: who waited reads it
		_ = backoff.Sleep(ctx, pause.After(failures))
	}
}

// fail records that the objects may be outdated.
func (s *Store[T, P]) fail(err error, first bool) {
	s.mu.Lock()
	s.doubt = fmt.Errorf("%s in namespace %q: %w", s.cfg.Resource.Name, s.cfg.Namespace, err)
	s.mu.Unlock()
	if first {
		s.cfg.Logger.Warn("objects of the supervisor are not current", "err", s.Current())
	}
}

// list replaces the objects.
func (s *Store[T, P]) list(ctx context.Context) (version string, err error) {
	found := map[types.UID]*T{}
	version, err = s.cfg.Connection.List(ctx, s.cfg.Resource, s.cfg.Namespace, "", func(data []byte) error {
		o, err := s.decode(data)
		if err == nil {
			found[P(o).GetUID()] = o
		}
		return err
	})
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	had := s.objects
	s.objects = found
	wasDoubtful := s.doubt != nil
	s.doubt = nil
	s.mu.Unlock()
	if wasDoubtful {
		s.cfg.Logger.Info("objects of the supervisor are current", "resource", s.cfg.Resource.String(), "namespace", s.cfg.Namespace, "objects", len(found))
	}
	for uid, before := range had {
		if found[uid] == nil {
			s.changed(before, nil, false)
		}
	}
	for uid, after := range found {
		if before := had[uid]; before == nil || P(before).GetResourceVersion() != P(after).GetResourceVersion() {
			s.changed(before, after, false)
		}
	}
	return version, nil
}

// watch applies changes from version on, as long as the Supervisor continues from where a watch ended.
func (s *Store[T, P]) watch(ctx context.Context, version string) error {
	for ctx.Err() == nil {
		began, progress := time.Now(), false
		err := s.cfg.Connection.Watch(ctx, s.cfg.Resource, s.cfg.Namespace, version, func(e supervisor.Event) error {
			o, err := s.decode(e.Object)
			if err != nil {
				return err
			}
			version, progress = P(o).GetResourceVersion(), true
			s.apply(e.Type, o)
			return nil
		})
		if err != nil {
			return err
		}
		if !progress && time.Since(began) < time.Second {
			return fmt.Errorf("%w: the watch ends at once", supervisor.ErrUnavailable)
		}
	}
	return nil
}

func (s *Store[T, P]) decode(data []byte) (*T, error) {
	o := new(T)
	if err := json.Unmarshal(data, o); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", supervisor.ErrUnavailable, s.cfg.Resource, err)
	}
	if s.cfg.Prepare != nil {
		s.cfg.Prepare(o)
	}
	return o, nil
}

func (s *Store[T, P]) apply(kind string, o *T) {
	uid := P(o).GetUID()
	s.mu.Lock()
	before := s.objects[uid]
	switch kind {
	case "ADDED", "MODIFIED":
		s.objects[uid] = o
	case "DELETED":
		delete(s.objects, uid)
	default: // a bookmark
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	if kind == "DELETED" {
		s.changed(o, nil, true)
	} else {
		s.changed(before, o, false)
	}
}

func (s *Store[T, P]) changed(before, after *T, witnessed bool) {
	if s.cfg.OnChange != nil {
		s.cfg.OnChange(before, after, witnessed)
	}
}
