package child_test

import (
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
)

// watched is a child under test with its changes.
type watched struct {
	*child.Child
	t       *testing.T
	changes chan child.Change
	closed  atomic.Bool // no change may come any more
}

// start runs a child that plays role; edit may change its Spec first.
func start(t *testing.T, role string, edit func(*child.Spec)) *watched {
	t.Helper()
	spec := child.Spec{
		Name:    "probe",
		Env:     append(os.Environ(), roleEnv+"="+role),
		Backoff: child.Backoff{Min: 5 * time.Millisecond, Max: 20 * time.Millisecond},
	}
	if edit != nil {
		edit(&spec)
	}
	w := &watched{t: t, changes: make(chan child.Change, 1000)}
	w.Child = child.Start(spec, func(change child.Change) {
		if w.closed.Load() {
			t.Errorf("a change after the stop had returned: %+v", change)
		}
		w.changes <- change
	})
	t.Cleanup(func() {
		if err := w.Kill(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// next returns the next change and fails when it is not into state.
func (w *watched) next(state child.State) child.Change {
	w.t.Helper()
	select {
	case change := <-w.changes:
		if change.State != state || change.Name != "probe" {
			w.t.Fatalf("got change %+v, want one into %q", change, state)
		}
		return change
	case <-time.After(30 * time.Second):
		w.t.Fatalf("no change into %q", state)
		return child.Change{}
	}
}

// last checks that the next change is into stopped, and that it was the last.
func (w *watched) last() child.Change {
	w.t.Helper()
	w.closed.Store(true)
	change := w.next(child.Stopped)
	if n := len(w.changes); n > 0 {
		w.t.Fatalf("%d changes after stopped", n)
	}
	if w.PID() != 0 || w.State() != child.Stopped {
		w.t.Fatalf("after stopped: pid %d, state %q", w.PID(), w.State())
	}
	return change
}
