package child_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
)

func TestStop(t *testing.T) {
	const never = time.Hour
	stop := func(w *watched) error { return w.Stop(w.t.Context()) }
	tests := []struct {
		name    string
		role    string
		grace   time.Duration
		suspend bool
		stop    func(*watched) error
		wantErr string // of the last change
	}{
		{name: "ends on TERM", role: "serve", grace: never, stop: stop},
		{name: "suspended ends on TERM", role: "serve", grace: never, suspend: true, stop: stop},
		{
			name: "ignores TERM", role: "ignore-term", grace: 30 * time.Millisecond, stop: stop,
			wantErr: "probe: killed: SIGTERM did not end it within 30ms",
		},
		{
			name: "ignores TERM, suspended", role: "ignore-term", grace: 30 * time.Millisecond, suspend: true, stop: stop,
			wantErr: "probe: killed: SIGTERM did not end it within 30ms",
		},
		{name: "the context ends the grace", role: "ignore-term", grace: never, stop: func(w *watched) error {
			ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Millisecond)
			defer cancel()
			return w.Stop(ctx)
		}},
		{name: "kill", role: "ignore-term", grace: never, stop: func(w *watched) error { return w.Kill() }},
		{name: "kill suspended", role: "serve", grace: never, suspend: true, stop: func(w *watched) error { return w.Kill() }},
		{name: "kill during the grace", role: "ignore-term", grace: never, stop: func(w *watched) error {
			var stops sync.WaitGroup
			stops.Go(func() {
				if err := w.Stop(w.t.Context()); err != nil {
					w.t.Error(err)
				}
			})
			defer stops.Wait()
			return w.Kill()
		}},
		{name: "takes its own children along", role: "fork stay", grace: never, stop: stop},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newReports(t)
			w := start(t, tt.role, func(s *child.Spec) {
				s.Files = []*os.File{r.write}
				s.StopGrace = tt.grace
			})
			pid := w.next(child.Started).PID
			r.line(t)
			if tt.suspend {
				if err := w.Suspend(); err != nil {
					t.Fatal(err)
				}
			}
			if err := tt.stop(w); err != nil {
				t.Fatal(err)
			}
			last := w.last()
			if last.PID != pid {
				t.Errorf("stopped %d, want %d", last.PID, pid)
			}
			if tt.wantErr != "" && (last.Err == nil || last.Err.Error() != tt.wantErr) || tt.wantErr == "" && last.Err != nil {
				t.Errorf("error %v, want %q", last.Err, tt.wantErr)
			}
			r.requireGone(t)
			if err := tt.stop(w); err != nil {
				t.Errorf("second time: %v", err)
			}
		})
	}
}

func TestStopDuringBackoff(t *testing.T) {
	w := start(t, "exit 1", func(s *child.Spec) { s.Backoff.Min = time.Hour })
	w.next(child.Started)
	w.next(child.Exited)
	w.next(child.Restarting)
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.last()
}

// Children that are stopped at any moment of their short lives: the order of
// the changes must hold, and nothing may be left behind.
func TestStopAtAnyMoment(t *testing.T) {
	follows := map[child.State][]child.State{
		child.Starting:   {child.Started, child.Stopped},
		child.Started:    {child.Exited, child.Stopped},
		child.Exited:     {child.Restarting},
		child.Restarting: {child.Started, child.Stopped},
	}
	r := newReports(t)
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			w := start(t, "exit 1", func(s *child.Spec) {
				s.Files = []*os.File{r.write}
				s.Backoff.Min = time.Millisecond
			})
			<-time.After(time.Duration(i) * 2 * time.Millisecond)
			if err := w.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			w.closed.Store(true)
			close(w.changes)
			state := child.Starting
			for change := range w.changes {
				allowed := false
				for _, next := range follows[state] {
					allowed = allowed || next == change.State
				}
				if !allowed {
					t.Errorf("%q after %q", change.State, state)
				}
				state = change.State
			}
			if state != child.Stopped {
				t.Errorf("the last state is %q", state)
			}
		})
	}
	all.Wait()
	r.requireGone(t)
}

func TestChildrenOfACrashedChildEnd(t *testing.T) {
	r := newReports(t)
	w := start(t, "fork exit", func(s *child.Spec) { s.Files = []*os.File{r.write}; s.Once = true })
	w.next(child.Started)
	w.next(child.Exited)
	<-w.Done()
	r.requireGone(t)
}

// A process that is to go is known to be, as long as it is there.
func TestEnding(t *testing.T) {
	r := newReports(t)
	w := start(t, "ignore-term", func(s *child.Spec) { s.Files, s.StopGrace = []*os.File{r.write}, time.Hour })
	pid := w.next(child.Started).PID
	r.line(t)
	if w.Ending() {
		t.Error("it is not to go")
	}
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.next(child.Restarting)
	if again := w.next(child.Started).PID; again == pid || w.Ending() {
		t.Errorf("process %d, before %d; it is not to go: %v", again, pid, w.Ending())
	}
	r.line(t) // it ignores by now
	var stops sync.WaitGroup
	stops.Go(func() {
		if err := w.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	for !w.Ending() {
		time.Sleep(time.Millisecond)
	}
	if w.PID() == 0 {
		t.Error("the process has gone without a grace")
	}
	if err := w.Kill(); err != nil {
		t.Error(err)
	}
	stops.Wait()
}
