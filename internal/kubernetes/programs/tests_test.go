package programs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The tests of a release are built once, in a module with the release's versions and nothing of this repository.
func TestTests(t *testing.T) {
	_, r := minor(t, "v1.35")
	sources := t.TempDir()
	put(t, filepath.Join(sources, "kubernetes", r.ModFile()), "// Generated.\n\nmodule github.com/vsphere-sandbox/vsphere-sandbox/kubernetes\n\nrequire (\n"+
		"\tgithub.com/vsphere-sandbox/vsphere-sandbox v0.0.0\n\tk8s.io/kubernetes "+r.Version+"\n)\n\nreplace github.com/vsphere-sandbox/vsphere-sandbox => ../\n")
	put(t, filepath.Join(sources, "kubernetes", strings.TrimSuffix(r.ModFile(), "mod")+"sum"), "sums\n")
	seen, module := t.TempDir(), t.TempDir()
	put(t, filepath.Join(module, "test", "e2e", "e2e_test.go"), "package e2e\n")
	var said []string
	f := Finder{
		Cache: filepath.Join(t.TempDir(), "cache"), sources: sources, Progress: func(text string) { said = append(said, text) },
		Go: fakeGo(t, module, "cat go.mod go.sum >"+seen+"/files; echo \"$args\" >>"+seen+"/args; cp *_test.go "+seen+"; echo tests >$out\n"),
	}
	for range 2 { // the second time it is there
		path, err := f.Tests(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != "tests\n" {
			t.Errorf("%s: %q, %v", path, b, err)
		}
	}
	files, err := os.ReadFile(filepath.Join(seen, "files"))
	if want := "module e2e\n\n// Generated.\n\n\nrequire (\n\tk8s.io/kubernetes " + r.Version + "\n)\n\nsums\n"; err != nil || string(files) != want {
		t.Errorf("%v: module is\n%s", err, files)
	}
	args, err := os.ReadFile(filepath.Join(seen, "args"))
	if err != nil || strings.Count(string(args), "\n") != 1 || !strings.HasPrefix(string(args), "test -c -vet=off ") || !strings.Contains(string(args), " -mod=mod ") || len(said) != 1 {
		t.Errorf("%v: args %s, said %q", err, args, said)
	}
	if text, err := os.ReadFile(filepath.Join(seen, "e2e_test.go")); err != nil || string(text) != "package e2e\n" {
		t.Errorf("the suite is\n%s, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(seen, "sandbox_provider_test.go")); err != nil || !strings.Contains(string(text), "RegisterProvider(\"vsphere-sandbox\"") {
		t.Errorf("the provider is\n%s, %v", text, err)
	}
	f.Cache, f.Go = filepath.Join(t.TempDir(), "cache"), fakeGo(t, module, "echo 'no such host' >&2; exit 1\n")
	if _, err := f.Tests(t.Context(), r); code(err) != CodeBuild || !strings.Contains(err.Error(), "no such host") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(f.Cache); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
