package events

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func TestExportOptions(t *testing.T) {
	for _, tc := range []struct {
		args string
		want exportOptions
		try  string
	}{
		{args: ""},
		{args: "-"},
		{args: "run.jsonl", want: exportOptions{file: "run.jsonl"}},
		{args: "run.jsonl -f --force", want: exportOptions{file: "run.jsonl", follow: true, force: true}},
		{args: "--force", try: "vsphere-sandbox events export run.jsonl --force"},
		{args: "a b", try: "export --help"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			var got exportOptions
			cmd := NewCmdExport(clitest.NewEnv(nil).Deps, func(_ context.Context, o *exportOptions) error { got = *o; return nil })
			r := clitest.NewEnv(nil).Run(t.Context(), cmd, strings.Fields(tc.args)...)
			if r.Try != tc.try || (r.Exit == report.Usage) != (tc.try != "") {
				t.Fatalf("ended with %+v", r)
			}
			got.streams, got.now, got.connect = nil, nil, nil
			if d := cmp.Diff(tc.want, got, cmp.AllowUnexported(exportOptions{})); d != "" && tc.try == "" {
				t.Error(d)
			}
		})
	}
}

// lines reads a recording.
func lines(t *testing.T, text string) (head api.Recording, all []api.Recorded) {
	t.Helper()
	err := api.ReadRecording(strings.NewReader(text), func(h api.Recording) error { head = h; return nil }, func(r api.Recorded) error {
		all = append(all, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return head, all
}

func TestExport(t *testing.T) {
	s := clitest.Serve(t, clitest.ZonesUSEU())
	e := clitest.NewEnv(s)
	path := filepath.Join(t.TempDir(), "run.jsonl")
	if r := e.Run(t.Context(), NewCmdEvents(e.Deps, nil), "export", path); r.Exit != 0 {
		t.Fatalf("ended with %+v", r)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, want it for its owner only", info.Mode(), err)
	}
	head, all := lines(t, string(b))
	if head.Sandbox != "default" || len(all) < 10 {
		t.Errorf("%d lines of %+v", len(all), head)
	}
	if e.Out.Len() > 0 {
		t.Errorf("printed %s", e.Out)
	}
	reported := strings.ReplaceAll(e.Err.String(), path, "run.jsonl")
	clitest.Golden(t, "export", reported)

	// To standard output, it is the same.
	if r := e.Run(t.Context(), NewCmdEvents(e.Deps, nil), "export", "-"); r.Exit != 0 || e.Out.String() != string(b) {
		t.Errorf("ended with %+v\n%s", r, cmp.Diff(string(b), e.Out.String()))
	}
}

func TestExportRefuses(t *testing.T) {
	s := clitest.Serve(t, clitest.ZonesUSEU())
	dir := t.TempDir()
	path := filepath.Join(dir, "run.jsonl")
	export := func(args ...string) report.Record {
		e := clitest.NewEnv(s)
		return e.Run(t.Context(), NewCmdEvents(e.Deps, nil), append([]string{"export", path}, args...)...)
	}
	holds := func(want string) {
		t.Helper()
		if b, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(b), want) {
			t.Errorf("%q, %v, want %q", b, err, want)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".*.*")); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
	if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := export(); r.Exit != report.Usage || r.Try != "--force   # to overwrite it" {
		t.Errorf("ended with %+v", r)
	}
	holds("mine")
	s.Refuse(&api.Error{Code: "unavailable", Message: "not yet"})
	if r := export("--force"); r.Exit != report.Failure || r.Code != "unavailable" {
		t.Errorf("ended with %+v", r)
	}
	holds("mine")
	s.Refuse(nil)
	if r := export("--force"); r.Exit != 0 {
		t.Errorf("ended with %+v", r)
	}
	holds(`{"apiVersion":`)
	if _, err := create(filepath.Join(dir, "no", "x"), false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in no directory: %v", err)
	}
}

// What was recorded until Ctrl-C, or the end of the sandbox, is kept.
func TestExportFollows(t *testing.T) {
	for _, how := range []string{"Ctrl-C", "the sandbox ends"} {
		t.Run(how, func(t *testing.T) {
			s := clitest.Serve(t, clitest.ZonesUSEU())
			e := clitest.NewEnv(s)
			dir := t.TempDir()
			path := filepath.Join(dir, "run.jsonl")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			// A second one, to know when there is something.
			out := make(notify, 100)
			along := clitest.NewEnv(s)
			along.Streams.Out = out
			ended, other := make(chan report.Record, 1), make(chan report.Record, 1)
			go func() { ended <- e.Run(ctx, NewCmdEvents(e.Deps, nil), "export", path, "-f") }()
			go func() { other <- along.Run(ctx, NewCmdEvents(along.Deps, nil), "export", "-f") }()
			for synced := 0; synced < 1; {
				if strings.Contains(<-out, `"synced":true`) {
					synced++
				}
			}
			waitFor(t, dir, `"seq":41`)
			s.SendRow(api.Update{Run: &api.Run{Name: "mine", State: "running"}})
			waitFor(t, dir, `"name":"mine"`)
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("it is there before it is complete: %v", err)
			}
			if how == "Ctrl-C" {
				cancel()
			} else {
				s.End()
			}
			if r := <-ended; r.Exit != 0 {
				t.Errorf("ended with %+v", r)
			}
			if r := <-other; r.Exit != 0 {
				t.Errorf("the other ended with %+v", r)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, all := lines(t, string(b)); all[len(all)-1].Run == nil {
				t.Errorf("the last line is %+v", all[len(all)-1])
			}
			if !strings.Contains(e.Err.String(), " 1 changes, ") {
				t.Errorf("told %s", e.Err)
			}
		})
	}
}

// waitFor waits until a text is in the file that is not complete yet.
func waitFor(t *testing.T, dir, text string) {
	t.Helper()
	for t.Context().Err() == nil {
		files, err := filepath.Glob(filepath.Join(dir, ".run.jsonl.*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), text) {
				return
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
}
