package csidriver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/csidriver"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream/upstreamtest"
)

func TestVersion(t *testing.T) {
	for text, want := range map[string]string{
		"module:v3.7.0": "v3.7.0",
		"image:registry.k8s.io/csi-vsphere/driver:v3.7.0":        "v3.7.0",
		"image://localhost:5000/driver:v3.8.0-rc.1":              "v3.8.0-rc.1",
		"image:us-central1-docker.pkg.dev/k8s/csi/driver:latest": "",
		"./driver": "", "builtin": "",
	} {
		s, err := program.CSIDriver.Parse(text)
		if got := csidriver.Version(s); err != nil || got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

func TestManifest(t *testing.T) {
	source := t.TempDir()
	dir := filepath.Join(source, "manifests", "vanilla")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	o := program.Options{Go: upstreamtest.Go(t, fmt.Sprintf(`echo '{"Dir": %q, "Sum": "h1:x"}'`, source))}
	_, err := csidriver.Manifest(t.Context(), "v3.9.0", o)
	_ = upstreamtest.WantError(t, err, csidriver.ManifestMissing, "its module has no manifest")
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
	_ = upstreamtest.WantError(t, err, csidriver.ManifestMissing, "this is not what was released")
	o.Go = filepath.Join(t.TempDir(), "none")
	_, err = csidriver.Manifest(t.Context(), "v3.9.0", o)
	_ = upstreamtest.WantError(t, err, program.GoMissing, "there is no Go toolchain")
}

func TestBuild(t *testing.T) {
	source := t.TempDir()
	o := program.Options{Cache: t.TempDir(), Arch: "amd64", Go: upstreamtest.Go(t, fmt.Sprintf(`case "$1 $2" in
"mod download") echo '{"Dir": %q, "Sum": "h1:x"}';;
"build "*) while [ "$1" != "-o" ]; do shift; done; (echo "#!/bin/sh"; echo "$CGO_ENABLED $GOEXPERIMENT $GOOS $GOARCH $3") >"$2"; chmod +x "$2";;
*) exit 9;;
esac`, source))}
	p, err := csidriver.Build(t.Context(), "v3.9.0", o)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		p.Driver: "#!/bin/sh\n0 boringcrypto linux amd64 ./cmd/vsphere-csi\n", p.Syncer: "#!/bin/sh\n0 boringcrypto linux amd64 ./cmd/syncer\n",
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
	_ = upstreamtest.WantError(t, err, program.GoMissing, "there is no Go toolchain")
	o.Go = upstreamtest.Go(t, `echo '{"Error": "unknown revision"}'; exit 1`)
	_, err = csidriver.Build(t.Context(), "v3.9.1", o)
	_ = upstreamtest.WantError(t, err, "csi-version-unknown", "there is no such version")
}

func TestWithTopology(t *testing.T) {
	const released = `          args:
            - "--default-fstype=ext4"
            # needed only for topology aware setup
            #- "--feature-gates=Topology=true"
            #- "--strict-topology"
            #- "--v=4"
`
	const want = `          args:
            - "--default-fstype=ext4"
            # needed only for topology aware setup
            - "--feature-gates=Topology=true"
            - "--strict-topology"
            #- "--v=4"
`
	for _, manifest := range []string{released, want} {
		if got := csidriver.WithTopology([]byte(manifest)); string(got) != want {
			t.Errorf("got\n%s", got)
		}
	}
}
