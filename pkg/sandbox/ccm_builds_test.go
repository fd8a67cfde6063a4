package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
)

// What is built anew while it runs is kept as it was, as long as it runs.
func TestKeepBuild(t *testing.T) {
	s := newSandbox(t, "single")
	path := filepath.Join(t.TempDir(), "ccm")
	build := func(text string) ccm.Program {
		t.Helper()
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		source, err := ccm.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := source.Resolve(t.Context(), ccm.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	built := build("one")
	one, err := s.keepBuild(built)
	if err != nil || one.Path == path || one.Source != path || one.Digest != built.Digest {
		t.Fatalf("%+v, %v", one, err)
	}
	two, err := s.keepBuild(build("two"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.keepBuild(built); err == nil {
		t.Error("another program was taken for it")
	}
	s.ccms.runs.Program = two
	s.dropBuilds()
	all, err := filepath.Glob(filepath.Join(s.buildsDir(), "*"))
	if err != nil || len(all) != 1 || all[0] != two.Path {
		t.Errorf("%v, %v, want %s", all, err, two.Path)
	}
	if b, err := os.ReadFile(two.Path); err != nil || string(b) != "#!/bin/sh\ntwo" {
		t.Errorf("%q, %v", b, err)
	}
}
