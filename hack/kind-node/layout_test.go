package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Every content is under its digest, and one image may have several names.
func TestWriteLayout(t *testing.T) {
	if _, err := exec.LookPath("zstd"); err != nil {
		t.Skip("zstd is not installed")
	}
	from, dir := t.TempDir(), filepath.Join(t.TempDir(), "layout")
	write(t, from, map[string]string{"one/bin/one": "1", "two/two": "2"})
	images := []podImage{
		{files: "one", names: []string{"r/one:v1", "r/uno:v1"}},
		{files: "two", names: []string{"r/two:v2"}, entrypoint: []string{"/two"}, command: []string{"serve"}, user: "1234"},
	}
	if err := writeLayout(t.Context(), from, dir, images); err != nil {
		t.Fatal(err)
	}
	var index struct{ Manifests []descriptor }
	read(t, filepath.Join(dir, "index.json"), &index)
	names := map[string]string{}
	for _, m := range index.Manifests {
		names[m.Annotations["io.containerd.image.name"]] = m.Digest
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		read(t, blob(t, dir, m), &manifest)
		var c config
		read(t, blob(t, dir, manifest.Config), &c)
		if len(manifest.Layers) != 1 || len(c.RootFS.DiffIDs) != 1 {
			t.Errorf("%d layers, %d unpacked ones, want one of each", len(manifest.Layers), len(c.RootFS.DiffIDs))
		}
		blob(t, dir, manifest.Layers[0])
	}
	if len(names) != 3 || names["r/one:v1"] != names["r/uno:v1"] || names["r/one:v1"] == names["r/two:v2"] {
		t.Errorf("names %v", names)
	}
}

func TestWriteArchive(t *testing.T) {
	layer := filepath.Join(t.TempDir(), "layer.tar")
	if err := os.WriteFile(layer, []byte("files"), 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c := newConfig("sha256:0")
	c.Config.StopSignal = "SIGRTMIN+3"
	if err := writeArchive(&out, "own:tag", c, layer); err != nil {
		t.Fatal(err)
	}
	parts := map[string][]byte{}
	for r := tar.NewReader(&out); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if parts[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(parts["manifest.json"], &manifest); err != nil {
		t.Fatal(err)
	}
	if len(manifest) != 1 || manifest[0].RepoTags[0] != "own:tag" || string(parts[manifest[0].Layers[0]]) != "files" {
		t.Errorf("manifest %+v", manifest)
	}
	var got config
	if err := json.Unmarshal(parts[manifest[0].Config], &got); err != nil {
		t.Fatal(err)
	}
	if got.Config.StopSignal != "SIGRTMIN+3" || got.RootFS.DiffIDs[0] != "sha256:0" {
		t.Errorf("configuration %+v", got)
	}
}

// blob is the path of a content, whose digest and size are checked.
func blob(t *testing.T, dir string, d descriptor) string {
	t.Helper()
	path := filepath.Join(dir, "blobs", "sha256", d.Digest[len("sha256:"):])
	got, size, err := digest(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != d.Digest || size != d.Size {
		t.Errorf("%s has digest %s and %d bytes, want %d", d.Digest, got, size, d.Size)
	}
	return path
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}
