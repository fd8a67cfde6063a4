package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// module makes a main module with the smallest program there is, and returns its folder.
func module(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":             "module example.test/tiny\n\ngo 1.26\n",
		"cmd/tiny/main.go":   "package main\n\nimport \"example.test/tiny/copied\"\n\nvar version string\n\nfunc main() { print(version, copied.It) }\n",
		"LICENSE":            "terms",
		"copied/it.go":       "package copied\n\nvar It = 1\n",
		"copied/COPYING.txt": "other terms",
		"unused/LICENSE":     "terms of what is not linked",
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// lines runs the program for cmd/tiny and returns the lines that it writes.
func lines(t *testing.T, root string, args ...string) []string {
	t.Helper()
	var out bytes.Buffer
	args = append([]string{"-root", root, "-programs", "tiny", "-version", "v1.2.3", "-revision", "abc"}, args...)
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

// index opens the layout that a line is about; everything in it has been checked against its digests.
func index(t *testing.T, line string) v1.ImageIndex {
	t.Helper()
	top, err := layout.ImageIndexFromPath(strings.Fields(line)[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(top); err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 {
		t.Fatalf("%d images", len(manifest.Manifests))
	}
	want := map[string]string{
		"org.opencontainers.image.ref.name": "dev",
		"io.containerd.image.name":          "localhost/tiny:dev",
	}
	if diff := cmp.Diff(want, manifest.Manifests[0].Annotations); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	all, err := top.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The same source makes the same digest, in another folder and on another day; another time of creation makes another.
func TestReproducible(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	first, second := strings.Fields(lines(t, module(t))[0]), strings.Fields(lines(t, module(t))[0])
	if first[1] != "localhost/tiny:dev" || first[2] != second[2] {
		t.Errorf("%v and %v", first, second)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1700000001")
	root := module(t)
	if later := strings.Fields(lines(t, root)[0]); later[2] == first[2] {
		t.Error("SOURCE_DATE_EPOCH changes nothing")
	}
	// In place of what was there.
	if again := lines(t, root); len(again) != 1 {
		t.Errorf("again %v", again)
	}
}

// An image for each platform, with what OCI wants to know of it.
func TestLayout(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	all := index(t, lines(t, module(t), "-ldflags", "-s -w -X main.version=v1.2.3")[0])
	labels := map[string]string{
		"org.opencontainers.image.title":    "tiny",
		"org.opencontainers.image.source":   "https://example.test/tiny",
		"org.opencontainers.image.version":  "v1.2.3",
		"org.opencontainers.image.revision": "abc",
		"org.opencontainers.image.created":  "2023-11-14T22:13:20Z",
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	manifest, err := all.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(labels, manifest.Annotations); diff != "" {
		t.Errorf("the index's annotations (-want +got):\n%s", diff)
	}
	var platforms []string
	for _, d := range manifest.Manifests {
		platforms = append(platforms, d.Platform.String())
		image, err := all.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		want := v1.Config{
			User: "65532:65532", WorkingDir: "/", Entrypoint: []string{"/tiny"}, Labels: labels,
			Env: []string{"PATH=/", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
		}
		if diff := cmp.Diff(want, config.Config); diff != "" || config.Platform().String() != d.Platform.String() {
			t.Errorf("%s, configuration for %s (-want +got):\n%s", d.Platform, config.Platform(), diff)
		}
		if mediaType, err := image.MediaType(); err != nil || mediaType != types.OCIManifestSchema1 {
			t.Errorf("%s: %s, %v", d.Platform, mediaType, err)
		}
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, platforms); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}
}

// Who runs the program can read what is in the image, and write none of it.
func TestFiles(t *testing.T) {
	manifest := index(t, lines(t, module(t), "-platforms", "linux/amd64")[0])
	m, err := manifest.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	image, err := manifest.Image(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range layers {
		r, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		for tr := tar.NewReader(r); ; {
			h, err := tr.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, h.FileInfo().Mode().String()+" "+h.Name)
			if !filepath.IsLocal(h.Name) {
				t.Errorf("%s is outside", h.Name)
			}
			if h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 0 {
				t.Errorf("%s is of %d:%d and %v", h.Name, h.Uid, h.Gid, h.ModTime)
			}
			if h.Name == rootsFile {
				data, err := io.ReadAll(tr)
				if pool := x509.NewCertPool(); err != nil || !pool.AppendCertsFromPEM(data) || bytes.Count(data, []byte("BEGIN")) < 50 {
					t.Errorf("%s: %d bytes of no use, %v", h.Name, len(data), err)
				}
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"drwxr-xr-x etc/", "-rw-r--r-- etc/group", "-rw-r--r-- etc/nsswitch.conf", "-rw-r--r-- etc/passwd",
		"drwxr-xr-x etc/ssl/", "drwxr-xr-x etc/ssl/certs/", "-rw-r--r-- etc/ssl/certs/ca-certificates.crt",
		"drwxr-xr-x licenses/", "drwxr-xr-x licenses/example.test/", "drwxr-xr-x licenses/example.test/tiny/",
		"-rw-r--r-- licenses/example.test/tiny/LICENSE",
		"drwxr-xr-x licenses/example.test/tiny/copied/", "-rw-r--r-- licenses/example.test/tiny/copied/COPYING.txt",
		"drwxr-xr-x licenses/go/", "-rw-r--r-- licenses/go/LICENSE", "-rw-r--r-- licenses/go/PATENTS",
		"-rwxr-xr-x tiny",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// A file for each platform, which is the image of the layout.
func TestDockerArchive(t *testing.T) {
	root := module(t)
	all := index(t, lines(t, root)[0])
	manifest, err := all.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	written := lines(t, root, "-format", "docker-archive")
	if len(written) != 2 {
		t.Fatalf("wrote %v", written)
	}
	for i, line := range written {
		image, err := tarball.ImageFromPath(strings.Fields(line)[0], nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(image); err != nil {
			t.Error(err)
		}
		same, err := all.Image(manifest.Manifests[i].Digest)
		if err != nil {
			t.Fatal(err)
		}
		want, err := same.ConfigName()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := image.ConfigName(); err != nil || got != want {
			t.Errorf("%s: configuration %s, in the layout %s, %v", line, got, want, err)
		}
	}
}

// Wrong arguments are reported before anything is compiled, and an existing folder with other contents is not changed.
func TestMistakes(t *testing.T) {
	root := module(t)
	if err := os.MkdirAll(filepath.Join(root, "busy", "tiny"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		want string
		args []string
	}{
		{`-format zip: oci, docker-archive and licenses are known`, []string{"-format", "zip"}},
		{`-platforms: "windows/amd64" is not one like linux/amd64`, []string{"-platforms", "windows/amd64"}},
		{`-programs: names of folders below cmd are needed`, []string{"-programs", "../x"}},
		{`unexpected argument "x"`, []string{"x"}},
		{`none: go build for linux/amd64`, []string{"-programs", "none"}},
		{`is there, and is no OCI layout`, []string{"-programs", "tiny", "-out", "busy"}},
	} {
		err := run(t.Context(), append([]string{"-root", root}, test.args...), io.Discard)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %v, want %s", test.args, err, test.want)
		}
	}
	if err := os.Remove(filepath.Join(root, "LICENSE")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(root, "copied", "COPYING.txt")); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"-root", root, "-programs", "tiny"}, io.Discard); err == nil || !strings.Contains(err.Error(), "example.test/tiny: linked in, and has no license") {
		t.Errorf("without a license: %v", err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if err := run(t.Context(), []string{"-root", root}, io.Discard); err == nil || !strings.Contains(err.Error(), "seconds since 1970") {
		t.Errorf("got %v", err)
	}
}

// A program says the release of the Kubernetes libraries, which compare feature gates with it, and then its own.
func TestVersion(t *testing.T) {
	gomod := []byte("module example.test/m\n\nrequire (\n\tk8s.io/component-base v0.36.4\n)\n")
	s := stamp{kubernetes: strings.Replace(word(gomod, "k8s.io/component-base"), "v0.", "v1.", 1), version: "v0.1.0+odd tag"}
	if got, want := s.ldflags(), " -X k8s.io/component-base/version.gitVersion=v1.36.4+v0.1.0-odd-tag"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (stamp{version: "v1"}).ldflags(); got != "" {
		t.Errorf("without Kubernetes %q", got)
	}
}

// Every program in the table has its command.
func TestPrograms(t *testing.T) {
	for _, p := range programs() {
		if _, err := os.Stat("../../cmd/" + p.name + "/main.go"); err != nil || p.title == "" || p.description == "" {
			t.Errorf("%s: %q, %q, %v", p.name, p.title, p.description, err)
		}
	}
}
