package doctor

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/bundle"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

// homeless is a machine on which there is no place for sandboxes.
func homeless() *clitest.Env {
	e := clitest.NewEnv(nil)
	e.State.Err = &report.Error{Message: "there is no place for sandboxes", Err: errors.New("$HOME is not defined")}
	return e
}

// Without a place for sandboxes that is reported once, with what to do about it; every other check still runs.
func TestNoStateDirectory(t *testing.T) {
	e := homeless()
	want := report.Record{
		Code: "prerequisite-missing", Exit: report.Prerequisite, Try: "export VSPHERE_SANDBOX_STATE=DIRECTORY",
		Message: "state-directory: there is no place for sandboxes: $HOME is not defined",
	}
	if d := cmp.Diff(want, e.Run(t.Context(), NewCmdDoctor(e.Deps, on(healthy())))); d != "" {
		t.Error(d)
	}
	clitest.Golden(t, "homeless.table", e.Out.String())
}

// A bug report is written all the same: it is what the report is about.
func TestBundleWithoutAStateDirectory(t *testing.T) {
	for _, name := range []string{"", "lab"} {
		e := homeless()
		e.NameFlag = name
		file := filepath.Join(t.TempDir(), "bug.tar.gz")
		if r := e.Run(t.Context(), NewCmdDoctor(e.Deps, on(healthy())), "--bundle", file); r.Exit != 0 {
			t.Fatalf("--name %q: ended with %+v", name, r)
		}
		for _, want := range []string{
			"  no sandbox: there is no place for sandboxes: $HOME is not defined\n", "  a part could not be had; index.json in it says which, and why\n",
		} {
			if !strings.Contains(e.Out.String(), want) {
				t.Errorf("--name %q: does not say %q:\n%s", name, want, e.Out)
			}
		}
		var index bundle.Index
		if err := json.Unmarshal(packed(t, file)[bundle.IndexName], &index); err != nil {
			t.Fatal(err)
		}
		want := []bundle.Missing{{Path: "sandboxes", What: "the sandboxes of this machine", Why: "there is no place for sandboxes: $HOME is not defined"}}
		if d := cmp.Diff(want, index.Missing); d != "" {
			t.Errorf("--name %q: %s", name, d)
		}
	}
}

// packed are the files of an archive, by the last part of their names.
func packed(t *testing.T, file string) map[string][]byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[filepath.Base(h.Name)], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}
