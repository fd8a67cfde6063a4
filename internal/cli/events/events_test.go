package events

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func TestOptions(t *testing.T) {
	for _, tc := range []struct {
		args   string
		want   filter
		follow bool
		try    string
	}{
		{args: ""},
		{args: "-f --since 5m", want: filter{since: 5 * time.Minute}, follow: true},
		{args: "--kind vm.*,node.* --kind x", want: filter{kinds: []string{"vm.*", "node.*", "x"}}},
		{args: "--object VM/worker-1 --plane vsphere", want: filter{object: "VM/worker-1", plane: "vsphere"}},
		{args: "--plane vshpere", try: "--plane vsphere"},
		{args: "--plane moon", try: "--plane sandbox|vsphere|kubernetes"},
		{args: "--since -5m", try: "--since 5m"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			e := clitest.NewEnv(nil)
			var got options
			cmd := NewCmdEvents(e.Deps, func(_ context.Context, o *options) error { got = *o; return nil })
			r := e.Run(t.Context(), cmd, strings.Fields(tc.args)...)
			if r.Try != tc.try || (r.Exit == report.Usage) != (tc.try != "") {
				t.Fatalf("ended with %+v", r)
			}
			if tc.try != "" {
				return
			}
			if d := cmp.Diff(tc.want, got.filter, cmp.AllowUnexported(filter{})); d != "" || got.follow != tc.follow {
				t.Errorf("follow %v\n%s", got.follow, d)
			}
		})
	}
}

func TestEvents(t *testing.T) {
	s := clitest.Serve(t, clitest.ZonesUSEU())
	for _, format := range []string{"table", "wide", "json", "yaml", "name"} {
		t.Run(format, func(t *testing.T) {
			e := clitest.NewEnv(s)
			if r := e.Run(t.Context(), NewCmdEvents(e.Deps, nil), "-o", format); r.Exit != 0 {
				t.Fatalf("ended with %+v", r)
			}
			clitest.Golden(t, "events."+format, e.Out.String())
		})
	}
	e := clitest.NewEnv(s)
	e.Run(t.Context(), NewCmdEvents(e.Deps, nil))
	if d := cmp.Diff("38 events before number 40 are lost\n", e.Err.String()); d != "" {
		t.Error(d)
	}
}

func TestFilter(t *testing.T) {
	s := clitest.Serve(t, clitest.ZonesUSEU())
	for _, tc := range []struct{ args, want string }{
		{"", "event/1\nevent/40\nevent/41\n"},
		{"--since 2m", "event/40\nevent/41\n"},
		{"--since 85s", "event/41\n"},
		{"--plane sandbox", "event/1\n"},
		{"--kind vm.*", "event/40\n"},
		{"--kind vm.* --kind boot.*", "event/1\nevent/40\n"},
		{"--object worker-1", "event/40\n"},
		{"--object vm/worker-1", "event/40\n"},
		{"--object eu/worker-1", "event/40\n"},
		{"--object node/worker-1.example", "event/41\n"},
		{"--object node/worker-1", ""},
	} {
		t.Run(tc.args, func(t *testing.T) {
			e := clitest.NewEnv(s)
			if r := e.Run(t.Context(), NewCmdEvents(e.Deps, nil), append(strings.Fields(tc.args), "-o", "name")...); r.Exit != 0 {
				t.Fatalf("ended with %+v", r)
			}
			if d := cmp.Diff(tc.want, e.Out.String()); d != "" {
				t.Error(d)
			}
		})
	}
}

// notify passes on what is written, write by write.
type notify chan string

func (n notify) Write(b []byte) (int, error) {
	n <- string(b)
	return len(b), nil
}

func TestFollow(t *testing.T) {
	s := clitest.Serve(t, clitest.ZonesUSEU())
	e := clitest.NewEnv(s)
	out := make(notify, 10)
	e.Streams.Out = out
	ended := make(chan report.Record, 1)
	go func() { ended <- e.Run(t.Context(), NewCmdEvents(e.Deps, nil), "-f", "--plane", "kubernetes") }()
	if got := <-out; strings.Count(got, "\n") != 2 || !strings.HasPrefix(got, "TIME") {
		t.Errorf("first:\n%s", got)
	}
	s.Change(func(*clitest.World) {}, api.EventLine{Event: event.Event{Plane: event.PlaneVSphere, Kind: "vm.powered-on"}})
	s.Change(func(*clitest.World) {}, api.EventLine{Event: event.Event{Time: clitest.Now, Plane: event.PlaneKubernetes, Kind: "node.ready", Object: event.Object{Kind: "Node", Name: "worker-1"}, Message: "Ready is True"}, Lost: 3})
	if d := cmp.Diff("12:00:00.000   kubernetes   node.ready       Node/worker-1           Ready is True\n", <-out); d != "" {
		t.Error(d)
	}
	s.End()
	if r := <-ended; r.Exit != 0 {
		t.Errorf("ended with %+v", r)
	}
	// The first loss was of what came before an event that is not shown.
	if d := cmp.Diff("38 events before number 41 are lost\n3 events before number 43 are lost\nsandbox \"default\" ended\n", e.Err.String()); d != "" {
		t.Error(d)
	}
}

func TestInterrupted(t *testing.T) {
	e := clitest.NewEnv(clitest.Serve(t, clitest.ZonesUSEU()))
	out := make(notify, 10)
	e.Streams.Out = out
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan report.Record, 1)
	go func() { ended <- e.Run(ctx, NewCmdEvents(e.Deps, nil), "-f", "-o", "json") }()
	for range 3 {
		if line := <-out; !strings.HasPrefix(line, `{"seq":`) || strings.Count(line, "\n") != 1 {
			t.Errorf("line %q", line)
		}
	}
	cancel()
	if r := <-ended; r.Exit != report.Interrupted {
		t.Errorf("ended with %+v", r)
	}
}

// An object goes by its name, with or without what it is in.
func TestNamed(t *testing.T) {
	pod := event.Object{Kind: "Pod", Name: "default/db-0"}
	vm := event.Object{Kind: "VirtualMachine", VCenter: "us", Name: "worker-1"}
	for _, tc := range []struct {
		o    event.Object
		name string
		want bool
	}{
		{pod, "db-0", true},
		{pod, "default/db-0", true},
		{pod, "pod/db-0", true},
		{pod, "Pod/default/db-0", true},
		{pod, "db", false},
		{pod, "default", false},
		{pod, "node/db-0", false},
		{pod, "other/db-0", false},
		{vm, "worker-1", true},
		{vm, "us/worker-1", true},
		{vm, "virtualmachine/worker-1", true},
		{vm, "eu/worker-1", false},
	} {
		if got := named(tc.o, tc.name); got != tc.want {
			t.Errorf("%v, %q: %t", tc.o, tc.name, got)
		}
	}
}
