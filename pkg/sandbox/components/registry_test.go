package components

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/watchcache"
)

const (
	pid1 = 1<<22 + 1 // beyond the highest pid there is
	pid2 = 1<<22 + 2
)

// registry returns one without components, and with its own directory.
func registry(t *testing.T) *Registry {
	t.Helper()
	dir, err := instance.Create(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.Remove(); err != nil {
			t.Error(err)
		}
	})
	return &Registry{
		Dir: dir, Log: event.NewLog(0), Logger: slog.New(slog.DiscardHandler), Cache: &watchcache.Cache{},
		Describe: func([]api.Component) {}, Crashed: func(int, string) {},
	}
}

// requireEvents compares what was appended to the log after an event, but for numbers and times.
func requireEvents(t *testing.T, log *event.Log, after uint64, want ...event.Event) {
	t.Helper()
	got, _ := log.Read(after, 0)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(event.Event{}, "Seq", "Time")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestNote(t *testing.T) {
	r := registry(t)
	log := r.Dir.Log("ccm")
	if err := os.WriteFile(log, []byte("I1 starting\nno such flag\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("ccm: exit status 2")
	const given = 7
	for _, tc := range []struct {
		change  child.Change
		row     api.Component
		level   event.Level
		kind    string
		message string
		// cause is the event before that it comes from, 0 when it has the cause that it was given.
		cause uint64
	}{
		{
			child.Change{State: child.Started, PID: pid1},
			api.Component{State: "running", PID: pid1},
			event.Info, "child.started", "ccm: started, pid 4194305", 0,
		},
		{
			child.Change{State: child.Exited, PID: pid1, Err: failed, Tail: []string{"no such flag"}},
			api.Component{State: "backing-off", Message: "ccm: exit status 2: no such flag"},
			event.Error, "child.exited", "ccm: exit status 2: no such flag", 0,
		},
		{
			child.Change{State: child.Restarting, Backoff: 200*time.Millisecond + 3},
			api.Component{State: "backing-off", Restarts: 1, Message: "ccm: exit status 2: no such flag"},
			event.Warning, "child.restarting", "ccm: starts again in 200ms", 2,
		},
		{
			child.Change{State: child.Started, PID: pid2},
			api.Component{State: "running", PID: pid2, Restarts: 1},
			event.Info, "child.started", "ccm: started, pid 4194306", 3,
		},
		{
			child.Change{State: child.Stopped, PID: pid2},
			api.Component{State: "stopped", Restarts: 1},
			event.Info, "child.stopped", "ccm: stopped", 0,
		},
		{
			child.Change{State: child.Exited, PID: pid1, Tail: []string{"no such flag"}}, // with status 0
			api.Component{State: "backing-off", Restarts: 1, Message: "ccm: exited: no such flag"},
			event.Error, "child.exited", "ccm: exited: no such flag", 0,
		},
		{
			child.Change{State: child.Exited, Err: failed}, // could not be started: what the log says is of an earlier one
			api.Component{State: "backing-off", Restarts: 1, Message: "ccm: exit status 2"},
			event.Error, "child.exited", "ccm: exit status 2", 6,
		},
		{
			child.Change{State: child.Stopped, PID: pid2, Err: errors.New("ccm: killed: SIGTERM did not end it within 2s")},
			api.Component{State: "stopped", Restarts: 1, Message: "ccm: exit status 2"},
			event.Warning, "child.stopped", "ccm: killed: SIGTERM did not end it within 2s", 0,
		},
	} {
		if tc.cause == 0 {
			tc.cause = given
		}
		before := r.Log.Last()
		tc.change.Name, tc.row.Name, tc.row.Log = "ccm", "ccm", log
		object := event.Object{Kind: "Node", VCenter: "vc", Name: "n"}
		r.Note(tc.change, object, given)
		rows := r.All()
		if diff := cmp.Diff([]api.Component{tc.row}, rows, cmpopts.IgnoreFields(api.Component{}, "Since")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.change.State, diff)
		}
		if rows[0].Since.IsZero() {
			t.Errorf("%s: since when is not known", tc.change.State)
		}
		requireEvents(t, r.Log, before, event.Event{
			Plane: event.PlaneSandbox, Level: tc.level, Kind: tc.kind, Object: object, Message: tc.message, Cause: tc.cause,
		})
	}
	want := []string{"ccm 4194305 false", "ccm 4194305 true", "ccm 4194306 false", "ccm 4194306 true", "ccm 4194305 true", "ccm 4194306 true"}
	if diff := cmp.Diff(want, journal(t, r)); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
}

// journal reads what a later command would clean up from: name, pid and whether it has exited.
func journal(t *testing.T, r *Registry) []string {
	t.Helper()
	text, err := os.ReadFile(r.Dir.Path("children.journal"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		var e struct {
			Name   string
			PID    json.Number
			Exited bool
		}
		if json.Unmarshal([]byte(line), &e) == nil {
			lines = append(lines, e.Name+" "+e.PID.String()+map[bool]string{false: " false", true: " true"}[e.Exited])
		}
	}
	return lines
}

func TestComponentsAreListedByName(t *testing.T) {
	r := registry(t)
	if rows := r.All(); rows == nil || len(rows) > 0 {
		t.Errorf("%v, want an empty list, for JSON", rows)
	}
	for _, name := range []string{"node/b", "ccm", "node/a"} {
		r.Notify(child.Change{Name: name, State: child.Started, PID: pid1})
	}
	var names []string
	for _, c := range r.All() {
		names = append(names, c.Name)
	}
	if diff := cmp.Diff([]string{"ccm", "node/a", "node/b"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	requireEvents(t, r.Log, 2, event.Event{
		Plane: event.PlaneSandbox, Level: event.Info, Kind: "child.started", Message: "node/a: started, pid 4194305",
		Object: event.Object{Kind: "Component", Name: "node/a"},
	})
}

func TestSpecOfAChild(t *testing.T) {
	r := registry(t)
	r.Command = []string{"-x"}
	got := r.Spec(child.Spec{Name: "node/w", Args: []string{"node", "--config=c"}})
	want := child.Spec{
		Name: "node/w", Args: []string{"-x", "node", "--config=c"}, LogPath: r.Dir.Path("logs", "node", "w.log"), StopGrace: 2 * time.Second,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"-x"}, r.Command); diff != "" {
		t.Errorf("command (-want +got):\n%s", diff)
	}
}
