package ccm

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// serve is a sandbox that answers status, and takes what is about CCMs down.
func serve(t *testing.T, status api.Status, refuse *api.Error, events ...event.Event) (*clitest.Env, *[]any) {
	t.Helper()
	dir, err := os.MkdirTemp("", "ccm") // its path has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var asked []any
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(status) })
	mux.HandleFunc("GET /v1/events", func(w http.ResponseWriter, _ *http.Request) {
		for _, e := range events {
			_ = json.NewEncoder(w).Encode(e)
		}
	})
	take := func(what any) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if err := json.NewDecoder(r.Body).Decode(what); err != nil {
				t.Error(err)
			}
			asked = append(asked, what)
			if refuse != nil {
				w.WriteHeader(http.StatusConflict)
				_ = json.NewEncoder(w).Encode(refuse)
				return
			}
			_ = json.NewEncoder(w).Encode(api.Done{Message: "done", Seq: 7})
		}
	}
	mux.HandleFunc("POST /v1/ccm", take(&api.CCMRequest{}))
	mux.HandleFunc("POST /v1/ccm/restart", take(&struct{}{}))
	server := httptest.NewUnstartedServer(mux)
	server.Listener.Close()
	socket := filepath.Join(dir, "s")
	if server.Listener, err = listen(t, socket); err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(server.Close)
	e := clitest.NewEnv(nil)
	e.State.Items = []command.Sandbox{{Name: "default", Socket: socket, Running: true}}
	return e, &asked
}

const text = "#!/bin/sh\nexit 1\n"

func script(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ccm")
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSwap(t *testing.T) {
	path := script(t)
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text)))
	for _, tc := range []struct {
		args string
		want *api.CCMRequest
		out  string
		code string
	}{
		{args: "swap builtin", want: &api.CCMRequest{Source: "builtin", Replicas: 1}, out: "ccm: done\n"},
		{
			args: "swap " + path + " --arg=--v=4 --arg=--concurrent-node-syncs=2 --env A=b=c --replicas 2 -o json",
			want: &api.CCMRequest{Path: path, Source: path, Digest: digest, Args: []string{"--v=4", "--concurrent-node-syncs=2"}, Env: []string{"A=b=c"}, Replicas: 2},
			out:  "{\n  \"apiVersion\": \"sandbox.vsphere/v1alpha1\",\n  \"kind\": \"Result\",\n  \"message\": \"done\",\n  \"seq\": 7\n}\n",
		},
		{args: "swap", code: "usage"},
		{args: "swap builtin builtin", code: "usage"},
		{args: "swap oci:x", code: "usage"},
		{args: "swap module:1.36", code: "usage"},
		{args: "swap builtin --replicas 0", code: "usage"},
		{args: "swap builtin --arg v=4", code: "usage"},
		{args: "swap builtin --env A", code: "usage"},
		{args: "swap /nonexistent/ccm", code: "ccm-missing"},
		{args: "swop builtin", code: "usage"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			e, asked := serve(t, api.Status{}, nil)
			r := e.Run(t.Context(), NewCmdCCM(e.Deps), strings.Fields(tc.args)...)
			if r.Code != tc.code {
				t.Fatalf("ended with %+v", r)
			}
			var want []any
			if tc.want != nil {
				want = []any{tc.want}
			}
			if d := cmp.Diff(want, *asked); d != "" {
				t.Errorf("asked (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tc.out, e.Out.String()); tc.code == "" && d != "" {
				t.Errorf("said (-want +got):\n%s", d)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	e, _ := serve(t, api.Status{}, &api.Error{Code: "conflict", Message: "ccm: exit status 1; builtin runs again", Try: "vsphere-sandbox logs ccm"})
	want := report.Record{Code: "conflict", Message: "ccm: exit status 1; builtin runs again", Try: "vsphere-sandbox logs ccm", Exit: report.Failure}
	for _, args := range []string{"swap builtin", "restart"} {
		if d := cmp.Diff(want, e.Run(t.Context(), NewCmdCCM(e.Deps), strings.Fields(args)...)); d != "" {
			t.Errorf("%s: %s", args, d)
		}
	}
}

func TestRestart(t *testing.T) {
	e, asked := serve(t, api.Status{}, nil)
	if r := e.Run(t.Context(), NewCmdCCM(e.Deps), "restart"); r.Exit != 0 || len(*asked) != 1 || e.Out.String() != "ccm: done\n" {
		t.Errorf("%+v, asked %v, said %q", r, *asked, e.Out)
	}
}

func TestStatus(t *testing.T) {
	since := clitest.Now.Add(-90e9)
	status := api.Status{Components: []api.Component{
		{Name: "ccm", State: "running", PID: 11, Since: since, Source: "module:v1.36.0", Version: "v1.36.0", Digest: "sha256:abc", Health: "healthy", Leader: true},
		{Name: "ccm-2", State: "running", PID: 12, Since: since, Restarts: 2, Source: "module:v1.36.0", Version: "v1.36.0", Digest: "sha256:abc", Health: "healthy"},
		{Name: "control-plane", State: "running"},
	}}
	for _, format := range []string{"table", "wide", "json", "yaml", "name"} {
		t.Run(format, func(t *testing.T) {
			e, _ := serve(t, status, nil)
			if r := e.Run(t.Context(), NewCmdCCM(e.Deps), "status", "-o", format); r.Exit != 0 {
				t.Fatalf("ended with %+v", r)
			}
			clitest.Golden(t, "status."+format, e.Out.String())
		})
	}
	status.Components[1].Health = "exited"
	e, _ := serve(t, status, nil)
	if r := e.Run(t.Context(), NewCmdCCM(e.Deps), "status"); r.Exit != report.Degraded || r.Message != "ccm-2: exited" {
		t.Errorf("one is ill: %+v", r)
	}
	e, _ = serve(t, api.Status{}, nil)
	if r := e.Run(t.Context(), NewCmdCCM(e.Deps), "status"); r.Code != "not-found" {
		t.Errorf("there is none: %+v", r)
	}
}

// Names in vsphere.conf that a vCenter does not have are warnings, until they are found or the CCM is started again
// (findings/cpi.md A5).
func TestStatusMissingNames(t *testing.T) {
	about := func(kind, vcenter, message string) event.Event {
		return event.Event{Kind: kind, Object: event.Object{Kind: "VCenter", VCenter: vcenter, Name: vcenter}, Message: message}
	}
	us, eu := about("ccm.configured-name-missing", "us", `vCenter us (127.0.0.11): datacenter "DC-Nrod" not found`), about("ccm.configured-name-missing", "eu", "vCenter eu")
	started := event.Event{Kind: "child.started", Object: event.Object{Kind: "Component", Name: "ccm"}}
	for _, tc := range []struct {
		name   string
		events []event.Event
		want   string
	}{
		{"none", nil, ""},
		{"missing", []event.Event{started, us, eu}, "warning: vCenter eu\nwarning: " + us.Message + "\n"},
		{"found", []event.Event{us, eu, about("ccm.configured-names-found", "us", "")}, "warning: vCenter eu\n"},
		{"started again", []event.Event{us, started}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status := api.Status{Components: []api.Component{{Name: "ccm", Source: "builtin", State: "running", Health: "healthy"}}}
			e, _ := serve(t, status, nil, tc.events...)
			if r := e.Run(t.Context(), NewCmdCCM(e.Deps), "status"); r.Exit != 0 || e.Err.String() != tc.want {
				t.Errorf("%+v, printed %q", r, e.Err)
			}
		})
	}
}

func TestFetch(t *testing.T) {
	path := script(t)
	e := clitest.NewEnv(nil)
	if r := e.Run(t.Context(), NewCmdCCM(e.Deps), "fetch", path); r.Exit != 0 || e.Out.String() != path+"\n" {
		t.Errorf("%+v, said %q", r, e.Out)
	}
	e = clitest.NewEnv(nil)
	if r := e.Run(t.Context(), NewCmdCCM(e.Deps), "fetch", path, "-o", "yaml"); r.Exit != 0 || !strings.Contains(e.Out.String(), "digest: sha256:") {
		t.Errorf("%+v, said %q", r, e.Out)
	}
	e = clitest.NewEnv(nil)
	if r := e.Run(t.Context(), NewCmdCCM(e.Deps), "fetch", "archive:"+path); r.Exit != report.Usage || r.Code != "ccm-archive-broken" {
		t.Errorf("%+v", r)
	}
}

func TestHelp(t *testing.T) {
	for _, args := range []string{"--help", "swap --help", "status --help", "fetch --help", "restart --help"} {
		e := clitest.NewEnv(nil)
		if r := e.Run(t.Context(), NewCmdCCM(e.Deps), strings.Fields(args)...); r.Exit != 0 {
			t.Errorf("%s: %+v", args, r)
		}
		clitest.Golden(t, "help."+strings.Fields("ccm " + args)[len(strings.Fields(args))-1], e.Out.String())
	}
}

func TestCompletion(t *testing.T) {
	words, _ := Sources(nil, nil, "")
	if d := cmp.Diff([]string{"builtin", "image:", "archive:", "module:"}, words); d != "" {
		t.Error(d)
	}
	if words, _ := Sources(nil, nil, "mod"); !cmp.Equal(words, []string{"module:"}) {
		t.Error(words)
	}
	if words, _ := sourcesOrNone(nil, nil, "n"); !cmp.Equal(words, []string{None}) {
		t.Error(words)
	}
	if words, _ := Sources(nil, []string{"builtin"}, ""); words != nil {
		t.Error(words)
	}
}

func TestFlags(t *testing.T) {
	dir := t.TempDir()
	f := Flags{Source: "module:v1.36.0", Args: []string{"--v=4"}, Env: []string{"A=b c"}, Replicas: 2, Watch: filepath.Join(dir, "ccm")}
	if err := f.Check(); err != nil {
		t.Error(err)
	}
	want := []string{"--ccm=module:v1.36.0", "--ccm-arg=--v=4", "--ccm-env=A=b c", "--ccm-replicas=2", "--ccm-watch=" + f.Watch}
	if d := cmp.Diff(want, f.ToArgs()); d != "" {
		t.Error(d)
	}
	if plain := (&Flags{Replicas: 1}).ToArgs(); plain != nil {
		t.Errorf("nothing was said, and again it is %q", plain)
	}
	e := clitest.NewEnv(nil)
	// What is watched is run when it is there, else the built-in one until it is.
	watch := Flags{Replicas: 1, Watch: script(t)}
	if c, err := watch.Resolve(t.Context(), e.Streams); err != nil || c.Program.Path != watch.Watch || c.Watch != watch.Watch {
		t.Errorf("%+v, %v", c, err)
	}
	watch.Watch = filepath.Join(dir, "to-come")
	if c, err := watch.Resolve(t.Context(), e.Streams); err != nil || c.Program.Source != "builtin" {
		t.Errorf("%+v, %v", c, err)
	}
	// None at all is for who says so.
	none := Flags{Source: None, MayBeNone: true, Replicas: 1}
	if c, err := none.Resolve(t.Context(), e.Streams); err != nil || !c.None || none.Check() != nil || !cmp.Equal(none.ToArgs(), []string{"--ccm=none"}) {
		t.Errorf("%+v, %v", c, err)
	}
	if none.Args = []string{"--v=4"}; report.Of(none.Check()).Exit != report.Usage {
		t.Error("none, with arguments")
	}
	if c, err := (&Flags{Source: None, Replicas: 1}).Resolve(t.Context(), e.Streams); err == nil {
		t.Errorf("a program called none: %+v", c)
	}
	watch.Watch = filepath.Join(dir, "none", "ccm")
	if r := report.Of(watch.Check()); r.Exit != report.Usage {
		t.Errorf("%+v", r)
	}
}

// README's order works, and the other one.
func TestWatchArgs(t *testing.T) {
	for text, want := range map[string]string{
		"up --ccm bin/x --ccm-watch":            "up --ccm bin/x --ccm-watch=:ccm",
		"up --ccm-watch --ccm bin/x":            "up --ccm-watch=:ccm --ccm bin/x",
		"up --ccm=bin/x --ccm-watch single":     "up --ccm=bin/x --ccm-watch=:ccm single",
		"up --ccm-watch bin/x":                  "up --ccm-watch bin/x",
		"up --ccm-watch bin/x single":           "up --ccm-watch bin/x single",
		"up --ccm-watch=bin/x --ccm builtin":    "up --ccm-watch=bin/x --ccm builtin",
		"kubectl exec -- --ccm-watch":           "kubectl exec -- --ccm-watch",
		"up":                                    "up",
		"up --ccm builtin --ccm-watch bin/mine": "up --ccm builtin --ccm-watch bin/mine",
	} {
		if got := strings.Join(WatchArgs(strings.Fields(text)), " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for _, tc := range []struct{ source, watch, code string }{{"bin/x", "bin/x", ""}, {"", "", "usage"}, {"module:v1.36.0", "", "usage"}} {
		t.Chdir(t.TempDir())
		if err := os.Mkdir("bin", 0o700); err != nil {
			t.Fatal(err)
		}
		f := Flags{Source: tc.source, Watch: watchSource, Replicas: 1}
		if r := report.Of(f.Check()); r.Code != tc.code || tc.code == "" && (f.Watch != tc.watch || f.Source != "") {
			t.Errorf("%q: %+v, %+v", tc.source, r, f)
		}
	}
}
