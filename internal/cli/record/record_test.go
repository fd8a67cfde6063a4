package record

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// at returns surroundings with the variables of a vCenter's administrator.
func at(t *testing.T) *clitest.Env {
	t.Helper()
	lab := sim.Start(t, "../../../pkg/vcenter/testdata/zones.yaml")
	v, _ := lab.VCenter("vc")
	e := clitest.NewEnv(nil)
	e.Vars["GOVC_URL"], e.Vars["GOVC_USERNAME"], e.Vars["GOVC_PASSWORD"] = v.Addr(), v.User(), v.Password()
	e.Vars["GOVC_TLS_CA_CERTS"] = lab.CAFile
	return e
}

func load(t *testing.T, text string) *topology.Topology {
	t.Helper()
	top, err := topology.Load("recording", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return top
}

func TestRecord(t *testing.T) {
	e := at(t)
	for _, format := range []string{"yaml", "json"} {
		e.Out.Reset()
		r := e.Run(t.Context(), NewCmdRecord(e.Deps, nil), "--folder", "k8s", "--control-plane", "cp-*", "--name-of-topology", "mine", "-o", format)
		if r.Exit != 0 || e.Err.Len() > 0 {
			t.Fatalf("ended with %+v\n%s", r, e.Err)
		}
		top := load(t, e.Out.String())
		roles := map[topology.Role]int{}
		for _, n := range top.Nodes() {
			roles[n.VM.Role]++
		}
		want := map[topology.Role]int{topology.RoleControlPlane: 1, topology.RoleWorker: 2}
		if diff := cmp.Diff(want, roles); diff != "" || top.Metadata.Name != "mine" || (e.Out.String()[0] == '{') != (format == "json") {
			t.Errorf("%s: %s\n%s", format, diff, e.Out)
		}
	}
}

func TestRecordToFile(t *testing.T) {
	e := at(t)
	dir := t.TempDir()
	file, names := filepath.Join(dir, "top.yaml"), filepath.Join(dir, "map.json")
	record := func(args ...string) report.Record {
		return e.Run(t.Context(), NewCmdRecord(e.Deps, nil), append([]string{"-f", file, "--vm", "cp-1", "--vm", "nobody"}, args...)...)
	}
	if r := record("--anonymise", "--pseudonyms", names); r.Exit != 0 || e.Out.Len() > 0 {
		t.Fatalf("ended with %+v\n%s", r, e.Out)
	}
	for _, want := range []string{"warning: ", file + ": 1 vCenter, ", "try: vsphere-sandbox up " + file} {
		if !strings.Contains(e.Err.String(), want) || strings.Contains(e.Err.String(), "dcwest") {
			t.Errorf("did not say %q:\n%s", want, e.Err)
		}
	}
	for _, one := range []string{file, names} {
		if info, err := os.Stat(one); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	load(t, string(text))
	if r := record(); r.Code != "file-exists" || r.Exit != report.Usage {
		t.Errorf("ended with %+v", r)
	}
	if r := record("--force"); r.Exit != 0 {
		t.Errorf("ended with %+v", r)
	}
	if again, err := os.ReadFile(file); err != nil || string(again) == string(text) || !strings.Contains(string(again), "dcwest") {
		t.Errorf("%v\n%s", err, again)
	}
	// What goes wrong afterwards leaves the old file, and nothing beside it.
	e.Vars["GOVC_PASSWORD"] = "wrong"
	if r := record("--force"); r.Code != "vcenter-login-refused" {
		t.Errorf("ended with %+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := e.Run(ctx, NewCmdRecord(e.Deps, nil), "-f", file, "--force"); r.Exit != report.Interrupted {
		t.Errorf("ended with %+v", r)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestAnotherFaster: another process writes the file while the vCenter is read.
func TestAnotherFaster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "top.yaml")
	p, err := create(file, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := report.Of(p.keep([]byte("ours"))); r.Code != "file-exists" {
		t.Errorf("ended with %+v", r)
	}
	p.Discard()
	if text, err := os.ReadFile(file); err != nil || string(text) != "theirs" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestRefused(t *testing.T) {
	e := at(t)
	bad := filepath.Join(t.TempDir(), "map.json")
	if err := os.WriteFile(bad, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		code string
		exit int
	}{
		{[]string{"--name-of-topology", "Prod"}, "usage", report.Usage},
		{[]string{"--pseudonyms", "x"}, "usage", report.Usage},
		{[]string{"--force"}, "usage", report.Usage},
		{[]string{"-f", "x", "--anonymise", "--pseudonyms", "x"}, "usage", report.Usage},
		{[]string{"--anonymise", "--pseudonyms", bad}, "pseudonyms-invalid", report.Usage},
		{[]string{"--anonymize", "--pseudonyms", bad}, "pseudonyms-invalid", report.Usage},
		{[]string{"-f", "/nonexistent/x"}, "file-unwritable", report.Prerequisite},
		{[]string{"-f", t.TempDir(), "--force"}, "file-unwritable", report.Prerequisite},
		{[]string{"--folder", "nowhere"}, "not-recorded", report.Failure},
		{[]string{"argument"}, "usage", report.Usage},
	} {
		if r := e.Run(t.Context(), NewCmdRecord(e.Deps, nil), tc.args...); r.Code != tc.code || r.Exit != tc.exit || r.Try == "" || e.Out.Len() > 0 {
			t.Errorf("%v ended with %+v, want %s", tc.args, r, tc.code)
		}
	}
}

// TestWarnings shows a terminal no more than it takes.
func TestWarnings(t *testing.T) {
	for _, tty := range []bool{false, true} {
		e := clitest.NewEnv(nil)
		e.Streams.SetTTY(true, true, tty)
		o := &options{streams: e.Streams}
		o.warn(make([]string, 3*most))
		want := 3 * most
		if tty {
			want = most + 1
		}
		if got := strings.Count(e.Err.String(), "\n"); got != want {
			t.Errorf("terminal %t: %d lines, want %d", tty, got, want)
		}
	}
}
