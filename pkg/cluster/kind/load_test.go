package kind

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tarOf makes an archive of files, in the order of their names.
func tarOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name])), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestArchives(t *testing.T) {
	docker := func(config, tags string) []byte {
		return tarOf(t, map[string]string{"manifest.json": `[{"Config":"c.json","RepoTags":[` + tags + `]}]`, "c.json": config, "layer.tar": "not JSON"})
	}
	oci := func(digest, name string) []byte {
		return tarOf(t, map[string]string{"./index.json": `{"manifests":[{"digest":"` + digest + `","annotations":{"org.opencontainers.image.ref.name":"` + name + `"}}]}`})
	}
	for name, tc := range map[string]struct {
		tar    []byte
		images []string
	}{
		"docker":            {docker(`{"a":1}`, `"busybox","me/x:1","example.org/y@sha256:0"`), []string{"docker.io/library/busybox:latest", "docker.io/me/x:1", "example.org/y@sha256:0"}},
		"docker, no names":  {docker(`{"a":1}`, ""), nil},
		"OCI":               {oci("sha256:1", "localhost/x:1"), []string{"localhost/x:1"}},
		"OCI, a tag alone":  {oci("sha256:1", "latest"), nil},
		"OCI, by its index": {oci("sha256:1", "docker.io/x:1"), []string{"docker.io/library/x:1"}},
	} {
		got, err := readArchive(bytes.NewReader(tc.tar))
		if diff := cmp.Diff(tc.images, got.images); err != nil || diff != "" || len(got.content) != 64 {
			t.Errorf("%s: %v, %q (-want +got):\n%s", name, err, got.content, diff)
		}
	}
	// One content is one content, another is another.
	of := func(b []byte) string {
		a, err := readArchive(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		return a.content
	}
	one, same := docker(`{"a":1}`, `"x"`), docker(`{"a":1}`, `"x"`)
	if of(one) != of(same) || of(one) == of(docker(`{"a":2}`, `"x"`)) || of(oci("1", "a/x:1")) == of(oci("2", "a/x:1")) {
		t.Error("contents are mixed up")
	}
	for want, b := range map[string][]byte{
		"is no tar archive of images": []byte("nonsense"),
		"is no image archive":         tarOf(t, map[string]string{"a": "b"}),
		"is truncated or damaged":     docker(`{"a":1}`, `"x"`)[:1200],
		"which is missing":            tarOf(t, map[string]string{"manifest.json": `[{"Config":"c.json"}]`}),
		"manifest.json: json":         tarOf(t, map[string]string{"manifest.json": `{}`}),
		"index.json: json":            tarOf(t, map[string]string{"index.json": `[]`}),
		"is no image archive:":        nil,
	} {
		if _, err := readArchive(bytes.NewReader(b)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// Nodes that have the images are passed over, one that does not run keeps none of the others from them.
func TestLoadImages(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tar")
	image := tarOf(t, map[string]string{"manifest.json": `[{"Config":"c.json","RepoTags":["x:1"]}]`, "c.json": "{}"})
	if err := os.WriteFile(file, image, 0o600); err != nil {
		t.Fatal(err)
	}
	in := func(node, command string) string {
		interactive := ""
		if strings.Contains(command, "import") {
			interactive = "--interactive "
		}
		return "exec --privileged " + interactive + "vsphere-sandbox-demo-" + node + " " + command
	}
	const list, load, label, dump = "ctr --namespace=k8s.io images list", "ctr --namespace=k8s.io images import", "ctr --namespace=k8s.io images label", "containerd config dump"
	c, f, _ := fakedCluster(t, map[string]string{
		in("control-plane", list):                "docker.io/library/x:1\n",
		in("worker", list):                       "",
		in("worker", dump):                       "version = 3\n  snapshotter = 'native'\n",
		in("worker", load):                       "",
		in("worker", label):                      "",
		in("worker2", list):                      "!Error response from daemon: Container x is not running",
		"container inspect vsphere-sandbox-demo": `[{"State":{"Status":"exited"}}]`,
	})
	got, err := c.LoadImages(t.Context(), file)
	want := Loaded{Images: []string{"docker.io/library/x:1"}, Nodes: []string{"worker-1"}, Present: []string{"vsphere-sandbox-demo-control-plane"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err == nil || !strings.Contains(err.Error(), `node "worker-2": its container vsphere-sandbox-demo-worker2 is exited`) {
		t.Errorf("a node that does not run: %v", err)
	}
	if calls := f.called(in("worker", load)); len(calls) != 1 || !strings.Contains(calls[0], "--snapshotter=native") {
		t.Errorf("%q", calls)
	}
	a, err := readArchive(bytes.NewReader(image))
	if err != nil {
		t.Fatal(err)
	}
	if calls := f.called(in("worker", label)); len(calls) != 1 || !strings.HasSuffix(calls[0], fmt.Sprintf("docker.io/library/x:1 %s=%s", contentLabel, a.content)) {
		t.Errorf("%q", calls)
	}
	if _, err := c.LoadImages(t.Context(), file+".none"); err == nil {
		t.Error("loaded an archive that is not there")
	}
	if _, err := c.LoadImages(t.Context(), file, "nobody"); err == nil {
		t.Error("loaded into a node that is not there")
	}
}
