package csidriver_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/csidriver"
)

// fakeGo returns a toolchain that runs a shell script with go's arguments.
func fakeGo(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "go")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func requireWrong(t *testing.T, err error, code, words string) {
	t.Helper()
	var e *coded.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Error(), words) {
		t.Errorf("%v, want %s: %s", err, code, words)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]struct {
		kind csidriver.Kind
		ref  string
		vers string
	}{
		"module:v3.7.0": {csidriver.Module, "v3.7.0", "v3.7.0"},
		"image:registry.k8s.io/csi-vsphere/driver:v3.7.0":        {csidriver.Image, "registry.k8s.io/csi-vsphere/driver:v3.7.0", "v3.7.0"},
		"image://localhost:5000/driver:v3.8.0-rc.1":              {csidriver.Image, "localhost:5000/driver:v3.8.0-rc.1", "v3.8.0-rc.1"},
		"image:us-central1-docker.pkg.dev/k8s/csi/driver:latest": {csidriver.Image, "us-central1-docker.pkg.dev/k8s/csi/driver:latest", ""},
	} {
		s, err := csidriver.Parse(text)
		if err != nil || s.Kind() != want.kind || s.Ref() != want.ref || s.Version() != want.vers {
			t.Errorf("%s: %+v, %q, %v", text, s, s.Version(), err)
		}
	}
	for _, text := range []string{"", "module:", "module:3.7", "module:v3.7.0/..", "image:x", "image:a/b", "archive:x", "x"} {
		_, err := csidriver.Parse(text)
		requireWrong(t, err, csidriver.Usage, "CSI driver")
	}
}

func TestManifest(t *testing.T) {
	source := t.TempDir()
	dir := filepath.Join(source, "manifests", "vanilla")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	o := csidriver.Options{Go: fakeGo(t, fmt.Sprintf(`echo '{"Dir": %q, "Sum": "h1:x"}'`, source))}
	_, err := csidriver.Manifest(t.Context(), "v3.9.0", o)
	requireWrong(t, err, csidriver.ManifestMissing, "its module has no manifest")
	for name, text := range map[string]string{"namespace.yaml": "kind: Namespace", "vsphere-csi-driver.yaml": "kind: Deployment\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	text, err := csidriver.Manifest(t.Context(), "v3.9.0", o)
	if err != nil || string(text) != "kind: Namespace\n---\nkind: Deployment\n" {
		t.Errorf("%q, %v", text, err)
	}
	_, err = csidriver.Manifest(t.Context(), "v3.7.0", o) // whose checksum is known, and another one
	requireWrong(t, err, csidriver.ManifestMissing, "this is not what was released")
	o.Go = filepath.Join(t.TempDir(), "none")
	_, err = csidriver.Manifest(t.Context(), "v3.9.0", o)
	requireWrong(t, err, csidriver.GoMissing, "there is no Go toolchain")
}

func TestBuild(t *testing.T) {
	source := t.TempDir()
	o := csidriver.Options{Cache: t.TempDir(), Arch: "amd64", Go: fakeGo(t, fmt.Sprintf(`case "$1 $2" in
"mod download") echo '{"Dir": %q, "Sum": "h1:x"}';;
"build "*) while [ "$1" != "-o" ]; do shift; done; echo "$CGO_ENABLED $GOEXPERIMENT $GOOS $GOARCH $3" >"$2";;
*) exit 9;;
esac`, source))}
	p, err := csidriver.Build(t.Context(), "v3.9.0", o)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		p.Driver: "0 boringcrypto linux amd64 ./cmd/vsphere-csi\n", p.Syncer: "0 boringcrypto linux amd64 ./cmd/syncer\n",
	} {
		if text, err := os.ReadFile(file); err != nil || string(text) != want || filepath.Dir(file) != p.Dir {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}
	o.Go = "/nonexistent" // not needed again
	if again, err := csidriver.Build(t.Context(), "v3.9.0", o); err != nil || again != p {
		t.Errorf("%+v, %v", again, err)
	}
	_, err = csidriver.Build(t.Context(), "v3.9.1", o)
	requireWrong(t, err, csidriver.GoMissing, "there is no Go toolchain")
	o.Go = fakeGo(t, `echo '{"Error": "unknown revision"}'; exit 1`)
	_, err = csidriver.Build(t.Context(), "v3.9.1", o)
	requireWrong(t, err, csidriver.VersionUnknown, "there is no such version")
}
