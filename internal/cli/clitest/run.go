package clitest

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
)

// Sandboxes is a state directory made of data.
type Sandboxes struct {
	Items    []command.Sandbox
	LogFiles map[string]string
	Dir      string
	Settled  []string
	Reaped   []string
	Err      error
}

// List implements [command.Sandboxes].
func (s *Sandboxes) List(context.Context) ([]command.Sandbox, error) { return s.Items, s.Err }

// Root implements [command.Sandboxes].
func (s *Sandboxes) Root() (string, error) { return s.Dir, s.Err }

// Logs implements [command.Sandboxes].
func (s *Sandboxes) Logs(string) (map[string]string, error) { return s.LogFiles, s.Err }

// Settle implements [command.Sandboxes].
func (s *Sandboxes) Settle(context.Context) ([]string, error) { return s.Settled, s.Err }

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
			StartedAt: Now.Add(-10 * time.Minute), Scenario: "zones-us-eu",
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

// Words returns what a completion offers.
func Words(t *testing.T, f func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective), args ...string) []string {
	t.Helper()
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	words, directive := f(cmd, args, "")
	if directive != cobra.ShellCompDirectiveNoFileComp {
		t.Errorf("directive = %d, want no file names", directive)
	}
	return words
}
