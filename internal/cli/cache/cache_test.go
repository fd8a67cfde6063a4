package cache

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

// fill makes a cache in which there is one entry of each kind.
func fill(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	dir := filepath.Join(home, "vsphere-sandbox")
	for _, path := range []string{
		"upstream/v1.36.0/linux-amd64/ccm", "upstream/csi/v3.7.0/linux-amd64/driver", "ccm/sha256-ab/program", "sidecars/cd/csi-sidecars",
		"kind-node/node-ef.tar", "kind-node/lock", "left/x",
	} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, 2048), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, clitest.Now, clitest.Now); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func run(t *testing.T, e *clitest.Env, args ...string) report.Record {
	t.Helper()
	return e.Run(t.Context(), NewCmdCache(e.Deps), args...)
}

func TestListAndClean(t *testing.T) {
	dir := fill(t)
	e := clitest.NewEnv(nil)
	if r := run(t, e, "list", "--no-headers"); r.Exit != 0 {
		t.Fatal(r)
	}
	var got []string
	for line := range strings.Lines(e.Out.String()) {
		f := strings.Fields(line)
		got = append(got, strings.Join(f[:len(f)-1], " ")) // without the age
	}
	want := []string{"ccm image sha256-ab 2Ki", "ccm module:v1.36.0 2Ki", "csi module:v3.7.0 2Ki", "sidecars cd 2Ki", "node-image node-ef.tar 2Ki", "other left 2Ki"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}

	e.Out.Reset()
	if r := run(t, e, "clean", "ccm", "--dry-run"); r.Exit != 0 || e.Out.String() != "would delete ccm image sha256-ab (2Ki)\nwould delete ccm module:v1.36.0 (2Ki)\n" {
		t.Errorf("%v, %q", r, e.Out)
	}
	e.Out.Reset()
	if r := run(t, e, "clean", "ccm", "node-image"); r.Exit != 0 || !strings.Contains(e.Err.String(), "6Ki freed") {
		t.Errorf("%v, %q, %q", r, e.Out, e.Err)
	}
	for path, there := range map[string]bool{"upstream/v1.36.0": false, "ccm/sha256-ab": false, "kind-node/node-ef.tar": false, "kind-node/lock": true, "upstream/csi/v3.7.0": true} {
		if _, err := os.Stat(filepath.Join(dir, path)); (err == nil) != there {
			t.Errorf("%s: %v", path, err)
		}
	}
	e.Out.Reset()
	e.Err.Reset()
	if r := run(t, e, "clean"); r.Exit != 0 {
		t.Error(r)
	}
	e.Out.Reset()
	if r := run(t, e, "list"); r.Exit != 0 || e.Out.Len() > 0 || !strings.Contains(e.Err.String(), "the cache is empty") {
		t.Errorf("%v, %q, %q", r, e.Out, e.Err)
	}
}

// A sandbox that runs may run a program of the cache.
func TestInUse(t *testing.T) {
	dir := fill(t)
	e := clitest.NewEnv(nil)
	e.State.Items = []command.Sandbox{{Name: "lab", Running: true}}
	r := run(t, e, "clean")
	if r.Code != "in-use" || !strings.Contains(r.Message, `sandbox "lab" runs`) {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(dir, "ccm/sha256-ab")); err != nil {
		t.Error(err)
	}
	if r := run(t, e, "clean", "--force"); r.Exit != 0 {
		t.Errorf("%+v", r)
	}
	if r := run(t, e, "clean", "cmm"); r.Exit != report.Usage || r.Try != "vsphere-sandbox cache list ccm" {
		t.Errorf("%+v", r)
	}
}
