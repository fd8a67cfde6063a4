package tui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui"
)

// recording writes a short one into a file.
func recording(t *testing.T) string {
	t.Helper()
	began := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	var b bytes.Buffer
	for _, line := range []any{
		api.Recording{APIVersion: api.RecordingVersion, Kind: api.RecordingKind, Sandbox: "lab", Topology: "single", Speed: 10, StartedAt: began, Began: began},
		api.Recorded{Time: began, Update: api.Update{VM: &api.VM{Name: "worker-1", VCenter: "vc", MoRef: "vm-1", Power: "on", Role: "worker"}}},
		api.Recorded{Time: began, Update: api.Update{Synced: true}},
		api.Recorded{Time: began.Add(3 * time.Second), Update: api.Update{Event: &event.Event{
			Seq: 1, Time: began.Add(3 * time.Second), Plane: event.PlaneVSphere, Level: event.Warning, Kind: "vm.powered-off",
			Object: event.Object{Kind: "VM", VCenter: "vc", Name: "worker-1"}, Message: "powered off",
		}}},
	} {
		if err := json.NewEncoder(&b).Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "run.jsonl")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPrint(t *testing.T) {
	path := recording(t)
	e := clitest.NewEnv(nil)
	if r := e.Run(t.Context(), NewCmdTUI(e.Deps, nil), "--replay", path, "--print", "--size", "80x24", "--keys", "2"); r.Exit != 0 {
		t.Fatalf("%+v", r)
	}
	out := e.Out.String()
	for _, text := range []string{"lab · single · speed 10", "0:03/0:03", "vm.powered-off", "worker-1"} {
		if !strings.Contains(out, text) {
			t.Errorf("no %q in\n%s", text, out)
		}
	}
	if n := strings.Count(out, "\n"); n != 24 {
		t.Errorf("%d lines", n)
	}

	// From standard input, at its beginning.
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	e = clitest.NewEnv(nil)
	e.In.Write(data)
	if r := e.Run(t.Context(), NewCmdTUI(e.Deps, nil), "--replay", "-", "--print", "--at", "0s", "--keys", "2"); r.Exit != 0 {
		t.Fatalf("%+v", r)
	}
	if out := e.Out.String(); strings.Contains(out, "vm.powered-off") || !strings.Contains(out, "0:00/0:03") {
		t.Errorf("at the beginning:\n%s", out)
	}
}

func TestBadUsage(t *testing.T) {
	path := recording(t)
	noise := filepath.Join(t.TempDir(), "noise")
	if err := os.WriteFile(noise, []byte("noise\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args string
		exit int
		said string
	}{
		{"", report.Prerequisite, "needs a terminal"},
		{"--replay " + path, report.Prerequisite, "needs a terminal"},
		{"--theme drak", report.Usage, `theme "drak" not found`},
		{"--print", report.Usage, "--print is for recordings"},
		{"--at 3s", report.Usage, "--at is for recordings"},
		{"--replay " + path + " --at 3s", report.Usage, "--at is for --print"},
		{"--replay " + path + " --speed 0", report.Usage, "want more than 0"},
		{"--replay " + path + " --print --size 80", report.Usage, `"80" is not COLUMNSxLINES`},
		{"--replay " + path + " --print --size 80x", report.Usage, `"80x" is not COLUMNSxLINES`},
		{"--replay " + path + " --print --size 80x24x3", report.Usage, "is not COLUMNSxLINES"},
		{"--replay " + path + " --print --size 0x24", report.Usage, "is not COLUMNSxLINES"},
		{"--replay " + path + " --print --keys entr", report.Usage, `unknown key "entr"`},
		{"--replay " + path + "x --print", report.Failure, "cannot be played"},
		{"--replay " + noise + " --print", report.Failure, "cannot be played"},
		{"worker-1", report.Usage, ""},
	} {
		e := clitest.NewEnv(nil)
		r := e.Run(t.Context(), NewCmdTUI(e.Deps, nil), strings.Fields(tc.args)...)
		if r.Exit != tc.exit || !strings.Contains(r.Message, tc.said) {
			t.Errorf("%s: %+v", tc.args, r)
		}
		if e.Out.Len() > 0 {
			t.Errorf("%s: wrote %q", tc.args, e.Out)
		}
	}
}

// What is said afterwards is true of the sandbox that was shown, and the commands in it are for that one.
func TestSaidAfterwards(t *testing.T) {
	for name, want := range map[string]string{
		"":    "2 faults are still injected; to heal: vsphere-sandbox fault heal --all\n",
		"lab": "2 faults are still injected; to heal: vsphere-sandbox --name lab fault heal --all\n",
	} {
		e := clitest.NewEnv(nil)
		e.Deps.NameFlag = name
		WarnLeases(e.Deps, tui.Outcome{})
		WarnLeases(e.Deps, tui.Outcome{Leases: 2})
		if got := e.Err.String(); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
	crash := fmt.Errorf("%w: index out of range", tui.ErrCrashed)
	reported := (*report.Error)(nil)
	if err := Explain(crash, "the sandbox keeps running", "try it"); !errors.As(err, &reported) || reported.Message != "the terminal UI crashed; the sandbox keeps running" || !strings.HasPrefix(reported.Try, "try it\n") || !errors.Is(err, tui.ErrCrashed) {
		t.Errorf("%v, %+v", err, reported)
	}
	if err := Explain(io.EOF, "", ""); err != io.EOF {
		t.Error(err)
	}
}

func TestDumbTerminal(t *testing.T) {
	e := clitest.NewEnv(nil)
	e.Streams.SetTTY(true, true, true)
	e.Vars["TERM"] = "dumb"
	if r := e.Run(t.Context(), NewCmdTUI(e.Deps, nil)); r.Code != "no-terminal" || !strings.Contains(r.Message, "TERM=dumb") {
		t.Errorf("%+v", r)
	}
}

func TestNoColor(t *testing.T) {
	for _, tc := range []struct{ flag, env, want string }{
		{"auto", "", ""}, {"auto", "1", "mono"}, {"dark", "1", "dark"}, {"light", "", "light"},
	} {
		l := DisplayFlags{theme: tc.flag}
		if err := l.Complete(func(string) string { return tc.env }); err != nil || l.theme != tc.want {
			t.Errorf("%+v: %q, %v", tc, l.theme, err)
		}
	}
}

func TestLines(t *testing.T) {
	var got []string
	w := &lines{f: func(l []string) { got = append(got, l...) }}
	for _, s := range []string{"a", "b\nc\n", "", "\nd"} {
		if n, err := w.Write([]byte(s)); n != len(s) || err != nil {
			t.Errorf("%q: %d, %v", s, n, err)
		}
	}
	if want := []string{"ab", "c", ""}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
