package scenario

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
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
		s.view.World.Resync()
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
			if one.tracker.DependsOn(kind) {
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
	return w.tracker.Describe(&s.view)
}

// fail ends the session with an error.
func (s *session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
	s.cancel()
}

// logs follows the logs of components. Only the goroutine of [logs.follow], and callers of [logs.read] before or after it, use
// its files; the lines belong to the session.
type logs struct {
	session *session
	files   map[string]*logFile // by component
	asked   chan chan struct{}
}

// logFile is the state of reading a log.
type logFile struct {
	path   string
	offset int64
	rest   []byte // an incomplete line
}

// maxRead bounds one read of a log, maxLines the lines that are kept.
const (
	maxRead  = 8 << 20
	maxLines = 200_000
)

func newLogs(s *session, components []string) *logs {
	l := &logs{session: s, files: map[string]*logFile{}, asked: make(chan chan struct{})}
	for _, name := range components {
		l.files[name] = &logFile{}
	}
	l.find(true)
	return l
}

// find finds the logs. Lines that exist at the beginning do not count.
func (l *logs) find(beginning bool) {
	l.session.with(func(v *expect.View) {
		for _, c := range world.Values[api.Component](v.World, world.Component) {
			f := l.files[c.Name]
			if f == nil || c.Log == "" || f.path == c.Log {
				continue
			}
			f.path, f.offset, f.rest = c.Log, 0, nil
			if info, err := os.Stat(c.Log); err == nil && beginning {
				f.offset = info.Size()
			}
		}
	})
}

// follow reads new lines until ctx ends. If the system has no watch left (users have few, and share them), it polls.
func (l *logs) follow(ctx context.Context) error {
	again := time.NewTicker(pollEvery)
	defer again.Stop()
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		notify = &fsnotify.Watcher{} // never sends
	} else {
		again.Stop()
		defer notify.Close()
	}
	blind := err != nil
	watched := map[string]bool{}
	for {
		for _, f := range l.files {
			// The folder is watched, as the file may be replaced.
			if dir := filepath.Dir(f.path); f.path != "" && !watched[dir] && !blind {
				if err := notify.Add(dir); err != nil {
					blind = true
					again.Reset(pollEvery)
				}
				watched[dir] = true
			}
		}
		l.read()
		var done chan struct{}
		select {
		case <-ctx.Done():
			return nil
		case <-notify.Events:
		case <-again.C:
		case err := <-notify.Errors:
			if err != nil && !errors.Is(err, fsnotify.ErrEventOverflow) {
				return err
			}
		case done = <-l.asked:
			l.find(false)
			l.read()
			close(done)
		}
	}
}

// catchUp returns after it has read all earlier output.
func (l *logs) catchUp(ctx context.Context) {
	done := make(chan struct{})
	select {
	case l.asked <- done:
		<-done
	case <-ctx.Done():
	}
}

// read reads the output since the last call.
func (l *logs) read() {
	fresh := map[string][]string{}
	for name, f := range l.files {
		if f.path != "" {
			fresh[name] = f.lines()
		}
	}
	for name, lines := range fresh {
		if len(lines) == 0 {
			continue
		}
		l.session.refresh(func(v *expect.View) {
			if have := v.Lines[name]; len(have) < maxLines {
				v.Lines[name] = append(have, lines...)
			}
		})
	}
}

// lines returns the output since the last call. A file that cannot be read has none.
func (f *logFile) lines() []string {
	file, err := os.Open(f.path)
	if err != nil {
		return nil
	}
	defer file.Close() // only read from: closing cannot lose anything
	if info, err := file.Stat(); err == nil && info.Size() < f.offset {
		f.offset, f.rest = 0, nil // it was truncated
	}
	data, err := io.ReadAll(io.NewSectionReader(file, f.offset, maxRead))
	if err != nil {
		return nil
	}
	f.offset += int64(len(data))
	data = append(f.rest, data...)
	end := bytes.LastIndexByte(data, '\n') + 1
	f.rest = bytes.Clone(data[end:])
	var lines []string
	for line := range bytes.Lines(data[:end]) {
		lines = append(lines, string(bytes.TrimRight(line, "\r\n")))
	}
	return lines
}

// callsTime bounds a request for calls that are only recorded.
const callsTime = 5 * time.Second

// callsNow returns the calls so far, or nil if they are not known.
func (s *session) callsNow(ctx context.Context) []api.Calls {
	ctx, cancel := context.WithTimeout(ctx, callsTime)
	defer cancel()
	calls, err := s.sandbox.Calls(ctx)
	if err != nil {
		return nil
	}
	return calls
}

// callsSince returns the calls between two readings, without methods that were not called.
func callsSince(now, before []api.Calls) []api.Calls {
	type key struct{ vcenter, client, method string }
	was := map[key]api.Calls{}
	for _, c := range before {
		was[key{c.VCenter, c.Client, c.Method}] = c
	}
	var made []api.Calls
	for _, c := range now {
		if b := was[key{c.VCenter, c.Client, c.Method}]; b.Calls <= c.Calls && b.Errors <= c.Errors { // else the counter restarted
			c.Calls, c.Errors, c.Hits, c.Latency = c.Calls-b.Calls, c.Errors-b.Errors, c.Hits-min(b.Hits, c.Hits), c.Latency-min(b.Latency, c.Latency)
		}
		if c.Errors == 0 {
			c.LastError = "" // it is older
		}
		if c.Calls > 0 {
			made = append(made, c)
		}
	}
	return made
}

// always is a tracker that only reports every change.
type always struct{}

func (always) DependsOn(world.Kind) bool                { return true }
func (always) Evaluate(*expect.View) expect.Finding     { return expect.Finding{} }
func (always) Describe(*expect.View) []string           { return nil }
func (always) RelatedEvents(*expect.View) []event.Event { return nil }
