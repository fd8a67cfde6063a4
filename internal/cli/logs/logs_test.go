package logs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

// env returns surroundings with a sandbox that crashed and left logs with the given text.
func env(t *testing.T, logs map[string]string) *clitest.Env {
	t.Helper()
	e := clitest.NewEnv(nil)
	e.State.Items = []command.Sandbox{{Name: "default"}}
	e.State.LogFiles = map[string]string{}
	dir := t.TempDir()
	for name, text := range logs {
		path := filepath.Join(dir, strings.ReplaceAll(name, "/", "-"))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, clitest.Now, clitest.Now.Add(-time.Minute)); err != nil {
			t.Fatal(err)
		}
		e.State.LogFiles[name] = path
	}
	return e
}

func TestOptions(t *testing.T) {
	for _, tc := range []struct {
		args      string
		component string
		follow    bool
		tail      int
		exit      int
	}{
		{args: "", tail: -1},
		{args: "ccm -f --tail 20", component: "ccm", follow: true, tail: 20},
		{args: "-f", exit: report.Usage},
		{args: "ccm --tail -2", exit: report.Usage},
		{args: "ccm node", exit: report.Usage},
	} {
		t.Run(tc.args, func(t *testing.T) {
			e := clitest.NewEnv(nil)
			got := options{}
			cmd := NewCmdLogs(e.Deps, func(_ context.Context, o *options) error { got = *o; return nil })
			if r := e.Run(t.Context(), cmd, strings.Fields(tc.args)...); r.Exit != tc.exit {
				t.Fatalf("ended with %+v", r)
			}
			if got.component != tc.component || got.follow != tc.follow || got.tail != tc.tail {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestList(t *testing.T) {
	for _, format := range []string{"table", "name"} {
		e := env(t, map[string]string{"sandbox": "x", "ccm": strings.Repeat("x", 2048), "node/worker-1": ""})
		if r := e.Run(t.Context(), NewCmdLogs(e.Deps, nil), "-o", format); r.Exit != 0 {
			t.Fatalf("ended with %+v", r)
		}
		clitest.Golden(t, "logs."+format, e.Out.String())
	}
	e := env(t, nil)
	if r := e.Run(t.Context(), NewCmdLogs(e.Deps, nil)); r.Exit != 0 || e.Err.String() != "no logs\n" {
		t.Errorf("ended with %+v and %q", r, e.Err)
	}
}

func TestTail(t *testing.T) {
	var long strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&long, "line %d\n", i)
	}
	e := env(t, map[string]string{"ccm": "one\ntwo\nthree\n", "torn": "one\ntwo", "long": long.String(), "empty": "", "node/worker-1": "w\n", "a/x": "", "b/x": ""})
	for _, tc := range []struct{ args, want, code string }{
		{args: "ccm", want: "one\ntwo\nthree\n"},
		{args: "ccm --tail 2", want: "two\nthree\n"},
		{args: "ccm --tail 3", want: "one\ntwo\nthree\n"},
		{args: "ccm --tail 9", want: "one\ntwo\nthree\n"},
		{args: "ccm --tail 0"},
		{args: "torn --tail 1", want: "two"},
		{args: "long --tail 1", want: "line 9999\n"},
		{args: "empty --tail 1"},
		{args: "worker-1", want: "w\n"},
		{args: "x", code: "ambiguous"},
		{args: "workr-1", code: "not-found"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			e.Out.Reset()
			if r := e.Run(t.Context(), NewCmdLogs(e.Deps, nil), strings.Fields(tc.args)...); r.Code != tc.code {
				t.Fatalf("ended with %+v", r)
			}
			if d := cmp.Diff(tc.want, e.Out.String()); d != "" {
				t.Error(d)
			}
		})
	}
	e.Out.Reset()
	e.Run(t.Context(), NewCmdLogs(e.Deps, nil), "long", "--tail", "7000") // more than one chunk
	if got := e.Out.String(); !strings.HasPrefix(got, "line 3000\n") || strings.Count(got, "\n") != 7000 {
		t.Errorf("%d lines, the first %.20q", strings.Count(got, "\n"), got)
	}
}

// notify passes on what is written, write by write.
type notify chan string

func (n notify) Write(b []byte) (int, error) {
	n <- string(b)
	return len(b), nil
}

func TestFollow(t *testing.T) {
	e := env(t, map[string]string{"ccm": "old\nlast\n"})
	path := e.State.LogFiles["ccm"]
	out := make(notify, 100)
	e.Streams.Out = out
	ended := make(chan report.Record, 1)
	go func() { ended <- e.Run(t.Context(), NewCmdLogs(e.Deps, nil), "ccm", "-f", "--tail", "1") }()
	expect := func(want string) {
		t.Helper()
		for got := ""; got != want; {
			select {
			case more := <-out:
				if got += more; !strings.HasPrefix(want, got) {
					t.Fatalf("got %q, want %q", got, want)
				}
			case r := <-ended:
				t.Fatalf("ended with %+v, having got %q of %q", r, got, want)
			}
		}
	}
	write := func(path, text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	expect("last\n")
	write(path, "new\n")
	expect("new\n")
	write(path, "before the move\n")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(path, "after it\n")
	expect("before the move\nafter it\n")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if r := <-ended; r.Exit != 0 {
		t.Errorf("ended with %+v", r)
	}
}

// Logs of several components are followed at once, line by line, until they are gone.
func TestFollowSeveral(t *testing.T) {
	e := env(t, map[string]string{"ccm": "a\n", "ccm-2": "b\n", "other": "x\n"})
	out := make(notify, 100)
	e.Streams.Out = out
	group := Group{Command: &cobra.Command{}, Parts: []Part{{"all", func(c string) bool { return strings.HasPrefix(c, "ccm") }}}}
	ended := make(chan report.Record, 1)
	go func() { ended <- e.Run(t.Context(), NewCmdGroup(e.Deps, group), "-f") }()
	got := []string{<-out, <-out}
	slices.Sort(got)
	if d := cmp.Diff([]string{"ccm-2: b\n", "ccm: a\n"}, got); d != "" {
		t.Fatal(d)
	}
	for _, text := range []string{"half", " a line\n"} {
		f, err := os.OpenFile(e.State.LogFiles["ccm-2"], os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if got := <-out; got != "ccm-2: half a line\n" {
		t.Errorf("got %q", got)
	}
	for _, file := range e.State.LogFiles {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	if r := <-ended; r.Exit != 0 {
		t.Errorf("ended with %+v", r)
	}
}

func TestFollowIsInterrupted(t *testing.T) {
	e := env(t, map[string]string{"ccm": ""})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := e.Run(ctx, NewCmdLogs(e.Deps, nil), "ccm", "-f"); r.Exit != report.Interrupted {
		t.Errorf("ended with %+v", r)
	}
}

func TestCompletion(t *testing.T) {
	e := env(t, map[string]string{"sandbox": "", "node/worker-1": ""})
	if d := cmp.Diff([]string{"node/worker-1", "sandbox"}, clitest.Completions(t, complete.Logs(e.Deps))); d != "" {
		t.Error(d)
	}
}
