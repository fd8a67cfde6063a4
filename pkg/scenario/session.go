package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
)

// session follows one sandbox. A goroutine reads its stream, and evaluates every watcher at each change, so that no short state
// is missed. Make one with [follow].
type session struct {
	sandbox Sandbox
	cancel  context.CancelFunc
	running sync.WaitGroup

	asking sync.Mutex // one request at a time, so that answers stay in order

	mu       sync.Mutex
	cuts     uint64 // how often the stream was reopened
	view     expect.View
	watchers map[*watcher]bool
	synced   chan struct{}
	// gone is closed when the stream has ended, with the reason in err.
	gone   chan struct{}
	err    error
	broken error
}

// follow starts a session, and returns when it has read all updates so far. Events are those after a Seq.
func follow(ctx context.Context, sandbox Sandbox, after uint64) (*session, error) {
	reading, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &session{
		sandbox: sandbox, cancel: cancel, watchers: map[*watcher]bool{}, synced: make(chan struct{}), gone: make(chan struct{}),
		view: expect.View{World: world.New(), Lines: map[string][]string{}, Samples: map[string][]expect.Sample{}},
	}
	s.running.Go(func() { s.read(reading, after) })
	timeout := time.NewTimer(syncTime)
	defer timeout.Stop()
	select {
	case <-s.synced:
		return s, nil
	case <-s.gone:
		s.close()
		return nil, s.err
	case <-timeout.C:
		s.close()
		return nil, fmt.Errorf("the sandbox did not send its state within %s", syncTime)
	case <-ctx.Done():
		s.close()
		return nil, ctx.Err()
	}
}

// close ends the session, and waits for its goroutines.
func (s *session) close() {
	s.cancel()
	s.running.Wait()
}

// maxCuts is how often the stream may be cut without an update in between.
const maxCuts = 3

// read reads the stream, and reopens it after the sandbox has cut it for being slow.
func (s *session) read(ctx context.Context, after uint64) {
	defer close(s.gone)
	for cuts := 0; ; cuts++ {
		updated := false
		err := s.sandbox.Watch(ctx, after, func(u api.Update) error {
			updated = true
			s.apply(u)
			return nil
		})
		if updated {
			cuts = 0
		}
		switch {
		case ctx.Err() != nil:
			s.mu.Lock()
			s.err = cmp.Or(s.broken, ctx.Err())
			s.mu.Unlock()
			return
		case err == nil:
			s.err = errors.New("the sandbox has ended")
			return
		case cuts >= maxCuts:
			s.err = fmt.Errorf("the sandbox cannot be followed: %w", err)
			return
		}
		s.mu.Lock()
		s.cuts++
		s.view.World.Again()
		after = max(after, s.view.World.LastEvent())
		s.mu.Unlock()
	}
}

func (s *session) apply(u api.Update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.view.World
	before := w.Synced()
	kinds := w.Apply(u)
	if !before && w.Synced() {
		close(s.synced)
	}
	for _, kind := range kinds {
		for one := range s.watchers {
			if one.tracker.Concerns(kind) {
				one.look(&s.view)
			}
		}
	}
}

// missed counts gaps: lost events, and cuts of the stream. Equal results mean that nothing was missed in between.
func (s *session) missed() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cuts + s.view.World.Lost()
}

// with calls f with the current world. f must not keep it.
func (s *session) with(f func(v *expect.View)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.view)
}

// refresh wakes all watchers after a change that no update reports.
func (s *session) refresh(change func(v *expect.View)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.view)
	for one := range s.watchers {
		one.look(&s.view)
	}
}

// watch starts to evaluate an expectation.
func (s *session) watch(x *expect.Expectation, m expect.Marks) *watcher {
	w := &watcher{tracker: x.Track(m), changed: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.look(&s.view)
	s.watchers[w] = true
	return w
}

// listen signals every change, until done is called.
func (s *session) listen() (changed <-chan struct{}, done func()) {
	w := &watcher{tracker: always{}, changed: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers[w] = true
	return w.changed, func() { s.unwatch(w) }
}

// unwatch ends it.
func (s *session) unwatch(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watchers, w)
}

// state returns the current finding of a watcher.
func (s *session) state(w *watcher) sighting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.sighting
}

// was describes what there is instead of what a watcher expects.
func (s *session) was(w *watcher) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.tracker.Was(&s.view)
}

// fail ends the session with an error.
func (s *session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
	s.cancel()
}
