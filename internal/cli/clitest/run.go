package clitest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Sandboxes is a state directory made of data.
type Sandboxes struct {
	Items           []command.Sandbox
	LogFiles        map[string]string
	Dir             string
	ReapedProcesses []string
	Reaped          []string
	Err             error
}

// List implements [command.Sandboxes].
func (s *Sandboxes) List(context.Context) ([]command.Sandbox, error) { return s.Items, s.Err }

// Root implements [command.Sandboxes].
func (s *Sandboxes) Root() (string, error) { return s.Dir, s.Err }

// Logs implements [command.Sandboxes].
func (s *Sandboxes) Logs(string) (map[string]string, error) { return s.LogFiles, s.Err }

// ReapProcesses implements [command.Sandboxes].
func (s *Sandboxes) ReapProcesses(context.Context) ([]string, error) { return s.ReapedProcesses, s.Err }

// Reap implements [command.Sandboxes].
func (s *Sandboxes) Reap(context.Context) ([]string, error) { return s.Reaped, s.Err }

// Env is a command's surroundings in a test.
type Env struct {
	*command.Deps
	// State is the state directory behind Deps.Sandboxes.
	State        *Sandboxes
	In, Out, Err *bytes.Buffer
	// Vars are the environment variables.
	Vars map[string]string
}

// NewEnv returns surroundings in which one sandbox named default runs, served by s; none when s is nil.
func NewEnv(s *Server) *Env {
	e := &Env{State: &Sandboxes{}, Vars: map[string]string{}}
	var streams *iostreams.Streams
	streams, e.In, e.Out, e.Err = iostreams.Test()
	if s != nil {
		e.State.Items = []command.Sandbox{{
			Name: "default", Dir: "/state/default", Socket: s.Socket, Running: true, PID: 4242,
			StartedAt: Now.Add(-10 * time.Minute), Topology: "zones-us-eu",
		}}
	}
	e.Deps = &command.Deps{
		Streams: streams, Sandboxes: e.State, Self: "/bin/vsphere-sandbox",
		Getenv: func(k string) string { return e.Vars[k] }, Now: func() time.Time { return Now },
	}
	return e
}

// Run runs a command with arguments, as the root command does, and returns what it ends with.
func (e *Env) Run(ctx context.Context, cmd *cobra.Command, args ...string) report.Record {
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if args == nil {
		args = []string{}
	}
	cmd.SetArgs(args)
	cmd.SetOut(e.Out)
	cmd.SetErr(e.Err)
	return report.Of(cmd.ExecuteContext(ctx))
}

// Completions returns what a completion offers.
func Completions(t *testing.T, f func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective), args ...string) []string {
	t.Helper()
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	words, directive := f(cmd, args, "")
	if directive != cobra.ShellCompDirectiveNoFileComp {
		t.Errorf("directive = %d, want no file names", directive)
	}
	return words
}

var update = flag.Bool("update", false, "rewrite golden files")

// Golden compares got with testdata/<name>.golden.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", strings.ReplaceAll(name, "/", "-")+".golden")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run with -update", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}

// SendRow sends a row to all watching clients. It does not change the world: the test chooses the rows. [Server.Change]
// sends events.
func (s *Server) SendRow(u api.Update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify(u)
}

// notify is Tell. The caller holds the lock.
func (s *Server) notify(u api.Update) {
	s.reported = append(s.reported, u)
	close(s.grown)
	s.grown = make(chan struct{})
}

// watch streams the world as it is, and then all updates.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.ParseUint(r.FormValue("after"), 10, 64)
	s.mu.Lock()
	rows, reported := rowsOf(s.world), len(s.reported)
	if n := len(s.world.Events); n > 0 {
		after = min(after, s.world.Events[n-1].Seq)
	} else {
		after = 0
	}
	s.mu.Unlock()
	enc := json.NewEncoder(w)
	for synced := false; ; synced = true {
		lines, grown := s.after(after)
		s.mu.Lock()
		if synced {
			rows = append(rows, s.reported[reported:]...)
			reported = len(s.reported)
		}
		s.mu.Unlock()
		for _, line := range lines {
			rows = append(rows, api.Update{Event: &line.Event, Lost: line.Lost})
			after = line.Seq
		}
		if !synced {
			rows = append(rows, api.Update{Synced: true})
		}
		for _, u := range rows {
			if enc.Encode(u) != nil {
				return
			}
		}
		idle := synced && len(rows) == 0
		rows = nil
		if http.NewResponseController(w).Flush() != nil || idle && !s.wait(r.Context(), grown) {
			return
		}
	}
}

func rowsOf(w World) []api.Update {
	var rows []api.Update
	for _, v := range w.VCenters {
		rows = append(rows, api.Update{VCenter: &v})
	}
	for _, h := range w.Hosts {
		rows = append(rows, api.Update{Host: &h})
	}
	for _, v := range w.VMs {
		rows = append(rows, api.Update{VM: &v})
	}
	for _, n := range w.Nodes {
		rows = append(rows, api.Update{Node: &n})
	}
	for _, c := range w.Status.Components {
		rows = append(rows, api.Update{Component: &c})
	}
	for _, l := range w.Leases {
		rows = append(rows, api.Update{Lease: &l})
	}
	return rows
}

// routeExplain answers questions about one thing: with what the world has under KIND/NAME.
func (s *Server) routeExplain(mux *http.ServeMux) {
	mux.HandleFunc("POST /v1/explain", func(w http.ResponseWriter, r *http.Request) {
		reportOf(s, w, r, func(world World) map[string]api.Explanation { return world.Explanations })
	})
	mux.HandleFunc("POST /v1/inspect", func(w http.ResponseWriter, r *http.Request) {
		reportOf(s, w, r, func(world World) map[string]api.Inspection { return world.Inspections })
	})
}

func reportOf[T any](s *Server, w http.ResponseWriter, r *http.Request, table func(World) map[string]T) {
	var of api.Subject
	if err := json.NewDecoder(r.Body).Decode(&of); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, ok := table(s.world)[of.Kind+"/"+of.Name]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(&api.Error{Code: "not-found", Message: of.Kind + " \"" + of.Name + "\" does not exist", Try: "vsphere-sandbox get " + of.Kind + "s"})
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}
