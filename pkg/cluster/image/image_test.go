package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// programOf builds a program for Linux that prints a text.
func programOf(t *testing.T, says string, goarch string) string {
	t.Helper()
	dir := t.TempDir()
	for file, text := range map[string]string{
		"go.mod":  "module p\n",
		"main.go": "package main\n\nfunc main() { println(\"" + says + "\") }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", "p", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+goarch, "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(dir, "p")
}

func sandbox(t *testing.T, self, sidecars string) *Set {
	t.Helper()
	s, err := Sandbox(t.Context(), self, sidecars)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func written(t *testing.T, s *Set) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.Write(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// entries are the files of an archive.
func entries(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := all[h.Name]; twice {
			t.Errorf("%s is there twice", h.Name)
		}
		if all[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// An independent reader takes every image, whose parts are what their hashes say.
func TestArchiveIsDockers(t *testing.T) {
	s := sandbox(t, programOf(t, "self", "amd64"), programOf(t, "sidecars", "amd64"))
	archive := written(t, s)
	for of, entrypoint := range map[string][]string{
		CCM: {"/vsphere-sandbox", "builtin-ccm"}, CSI: {"/vsphere-sandbox", "csi-controller"},
		Program: {"/vsphere-sandbox"}, Sidecars: {"/csi-sidecars"},
	} {
		tag, err := name.NewTag(s.Name(of), name.WeakValidation)
		if err != nil {
			t.Fatal(err)
		}
		img, err := tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil }, &tag)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(img); err != nil {
			t.Errorf("%s: %v", of, err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(entrypoint, config.Config.Entrypoint); diff != "" || config.Config.User != "65532:65532" ||
			config.OS != "linux" || config.Architecture != "amd64" {
			t.Errorf("%s: %+v", of, config)
		}
		layers, err := img.Layers()
		if err != nil || len(layers) != 2 {
			t.Fatalf("%s: %d layers, %v", of, len(layers), err)
		}
		content, err := layers[1].Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		h, err := tar.NewReader(content).Next()
		if err != nil || "/"+h.Name != entrypoint[0] || h.Mode != 0o755 || h.Uid != 0 || h.ModTime.Unix() != 0 {
			t.Errorf("%s: its program is %+v, %v", of, h, err)
		}
	}
}

// The same archive is an OCI layout, of the same images.
func TestArchiveIsOCIs(t *testing.T) {
	s := sandbox(t, programOf(t, "self", "arm64"), "")
	all := entries(t, written(t, s))
	for file, data := range all {
		if hash, ok := strings.CutPrefix(file, "blobs/sha256/"); ok {
			if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != hash {
				t.Errorf("%s has another hash", file)
			}
		}
	}
	var index struct{ Manifests []descriptor }
	if err := json.Unmarshal(all["index.json"], &index); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range index.Manifests {
		names = append(names, d.Annotations["io.containerd.image.name"])
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		if err := json.Unmarshal(all["blobs/"+strings.Replace(d.Digest, ":", "/", 1)], &manifest); err != nil {
			t.Fatal(err)
		}
		for _, of := range append(manifest.Layers, manifest.Config, d) {
			if data := all["blobs/"+strings.Replace(of.Digest, ":", "/", 1)]; int64(len(data)) != of.Size {
				t.Errorf("%s: %s is %d bytes, not %d", d.Digest, of.Digest, len(data), of.Size)
			}
		}
		if d.Platform["architecture"] != "arm64" {
			t.Errorf("platform is %v", d.Platform)
		}
	}
	if diff := cmp.Diff(s.Names(), names); diff != "" {
		t.Error(diff)
	}
	if s.Name(Sidecars) != "" {
		t.Errorf("there are sidecars: %s", s.Name(Sidecars))
	}
	if string(all["oci-layout"]) != `{"imageLayoutVersion":"1.0.0"}` {
		t.Errorf("oci-layout is %s", all["oci-layout"])
	}
}

// The same programs make the same bytes and names, others other ones: what is loaded is known by its name.
func TestDeterministic(t *testing.T) {
	self := programOf(t, "self", "amd64")
	a, b := sandbox(t, self, ""), sandbox(t, self, "")
	if !bytes.Equal(written(t, a), written(t, b)) || !bytes.Equal(written(t, a), written(t, a)) {
		t.Error("two archives of one program differ")
	}
	if diff := cmp.Diff(a.Names(), b.Names()); diff != "" {
		t.Error(diff)
	}
	other := sandbox(t, programOf(t, "flesh", "amd64"), "")
	if other.Name(CCM) == a.Name(CCM) {
		t.Errorf("another program has the name %s, too", other.Name(CCM))
	}
}

// Images share what they have in common, or a node would hold the program three times.
func TestLayersAreThereOnce(t *testing.T) {
	self := programOf(t, "self", "amd64")
	info, err := os.Stat(self)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(written(t, sandbox(t, self, ""))); int64(n) > info.Size()+100<<10 {
		t.Errorf("an archive of %d bytes for a program of %d", n, info.Size())
	}
}

func TestOnly(t *testing.T) {
	s := sandbox(t, programOf(t, "self", "amd64"), programOf(t, "sidecars", "amd64"))
	some := s.Only(CSI, "no image")
	if diff := cmp.Diff([]string{s.Name(CSI)}, some.Names()); diff != "" {
		t.Error(diff)
	}
	if a, b := len(written(t, s.Only(CCM, CSI))), len(written(t, s)); a >= b || len(entries(t, written(t, some))) != 7 {
		t.Errorf("%d bytes of %d", a, b) // layout, index, list; configuration, manifest, two layers
	}
}

func TestFromProgram(t *testing.T) {
	file := programOf(t, "ccm", "amd64")
	const at = "/bin/vsphere-cloud-controller-manager"
	names := []string{"registry.k8s.io/cloud-pv-vsphere/cloud-provider-vsphere:v1.36.0", "localhost:5000/cpi:x"}
	s, err := FromProgram(t.Context(), file, at, names...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(names, s.Names()); diff != "" {
		t.Error(diff)
	}
	all := entries(t, written(t, s))
	var list []docker
	if err := json.Unmarshal(all["manifest.json"], &list); err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	var config struct{ Config struct{ Entrypoint []string } }
	if err := json.Unmarshal(all[list[0].Config], &config); err != nil || len(config.Config.Entrypoint) != 1 || config.Config.Entrypoint[0] != at {
		t.Errorf("%s: %v", all[list[0].Config], err)
	}
	if layer := entries(t, all[list[0].Layers[1]]); layer["bin/"] == nil || len(layer["bin/vsphere-cloud-controller-manager"]) == 0 {
		t.Errorf("the program is not at %s", at)
	}
}

// What cannot run in a pod is refused, with what to do about it.
func TestRefused(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	amd, arm := programOf(t, "a", "amd64"), programOf(t, "b", "arm64")
	for _, tc := range []struct {
		name string
		call func(ctx context.Context) (*Set, error)
		want string
	}{
		{"no program", func(ctx context.Context) (*Set, error) { return Sandbox(ctx, script, "") }, "programs for Linux"},
		{"not there", func(ctx context.Context) (*Set, error) { return Sandbox(ctx, script+"x", "") }, "no such file"},
		{"two architectures", func(ctx context.Context) (*Set, error) { return Sandbox(ctx, amd, arm) }, "one architecture"},
		{"no path", func(ctx context.Context) (*Set, error) { return FromProgram(ctx, amd, "bin/x", "localhost/x:1") }, "begins with /"},
		{"no name", func(ctx context.Context) (*Set, error) { return FromProgram(ctx, amd, "/x") }, "a name are needed"},
		{"no tag", func(ctx context.Context) (*Set, error) { return FromProgram(ctx, amd, "/x", "localhost/x") }, "registry and tag"},
		{"no registry", func(ctx context.Context) (*Set, error) { return FromProgram(ctx, amd, "/x", "x:1") }, "registry and tag"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := tc.call(t.Context()); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is %v, want %q", err, tc.want)
			}
		})
	}
}

// A program that needs a libc has none in an image of it alone.
func TestDynamicIsRefused(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system has no dynamic programs for Linux at hand")
	}
	file, err := exec.LookPath("ls")
	if err != nil {
		t.Skip(err)
	}
	if _, err := Sandbox(t.Context(), file, ""); err == nil || !strings.Contains(err.Error(), "CGO_ENABLED=0") {
		t.Errorf("error is %v", err)
	}
}

// A program that changes between its hash and its archive is an error.
func TestChangedBetween(t *testing.T) {
	file := programOf(t, "self", "amd64")
	s := sandbox(t, file, "")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1]++
	if err := os.WriteFile(file, data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("error is %v", err)
	}
	if err := os.WriteFile(file, data[:100], 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), io.Discard); err == nil {
		t.Error("a program that is shorter makes an archive")
	}
}

// A file is complete or not there.
func TestWriteFile(t *testing.T) {
	s := sandbox(t, programOf(t, "self", "amd64"), "")
	dir := t.TempDir()
	to := filepath.Join(dir, "images.tar")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.WriteFile(ended, to); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%s is left", left[0].Name())
	}
	if err := s.WriteFile(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(to)
	if err != nil || !bytes.Equal(data, written(t, s)) {
		t.Errorf("the file differs, %v", err)
	}
}
