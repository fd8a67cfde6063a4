package migrate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/steps"
)

// A plan replaces nothing without --force, and never the file that it is made of; half of one is never left.
func TestPlanFile(t *testing.T) {
	dir := t.TempDir()
	old, there, folder := filepath.Join(dir, "vsphere.conf"), filepath.Join(dir, "plan.md"), filepath.Join(dir, "folder")
	for _, file := range []string{old, there, there + ".new"} {
		if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		out   string
		force bool
		code  string // of vacant; then of write
		then  string
	}{
		"a new file":           {filepath.Join(dir, "new.md"), false, "", ""},
		"one that is there":    {there, false, "file-exists", "file-exists"},
		"replaced":             {there, true, "", ""},
		"the old vsphere.conf": {old, true, "usage", ""},
		"by another name":      {filepath.Join(dir, ".", "folder", "..", "vsphere.conf"), true, "usage", ""},
		"no such folder":       {filepath.Join(dir, "no", "plan.md"), false, "", "file-unwritable"},
		"a folder":             {folder, true, "", "file-unwritable"},
	} {
		t.Run(name, func(t *testing.T) {
			e := clitest.NewEnv(nil)
			o := &planOptions{streams: e.Deps.Streams, old: old, out: c.out, force: c.force}
			if err := o.vacant(); c.code != codeOf(err) {
				t.Fatal(err)
			}
			if c.code == "usage" {
				return
			}
			if err := o.write(&steps.Plan{Cluster: "prod"}); c.then != codeOf(err) {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(c.out); c.then == "" && (err != nil || !strings.HasPrefix(string(text), "# Migration of prod")) {
				t.Errorf("%v\n%s", err, text)
			}
		})
	}
	var names []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if d := cmp.Diff([]string{"folder", "new.md", "plan.md", "plan.md.new", "vsphere.conf"}, names); err != nil || d != "" {
		t.Errorf("%v, beside the plans: %s", err, d)
	}
	if is, err := os.Stat(there); err != nil || is.Mode().Perm() != 0o600 {
		t.Errorf("%v, what was replaced is %v", err, is)
	}
	if text, err := os.ReadFile(there + ".new"); err != nil || string(text) != "before" {
		t.Errorf("somebody else's file is now %q, %v", text, err)
	}
	if text, err := os.ReadFile(old); err != nil || string(text) != "before" {
		t.Errorf("%v %s", err, text)
	}
}

func codeOf(err error) string {
	if err == nil {
		return ""
	}
	return report.Of(err).Code
}
