package nodeimage

import (
	"archive/tar"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/images"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// docker has images by name, with what /kind/version says in them, and those that a registry would give it.
type docker struct {
	has, registry map[string]string
	own           []string // those of has that hack/kind-node has made, from old to young
	pulled        []string
	helpers       []string // the labels of containers that have read what an image says
}

func (d *docker) Run(_ context.Context, c runtime.Call) error {
	fail := func(format string, args ...any) error {
		fmt.Fprintf(c.Stderr, format, args...)
		return &runtime.ExitError{Status: 1}
	}
	switch c.Args[0] {
	case "image":
		if c.Args[1] == "ls" {
			for name := range d.has {
				fmt.Fprintln(c.Stdout, name)
			}
			return nil
		}
		var all []map[string]any
		for _, name := range c.Args[2:] {
			version, ok := d.has[name]
			if !ok {
				return fail("Error: No such image: %s", name)
			}
			is := map[string]any{"Id": "sha256:1", "Os": "linux", "Architecture": "amd64", "RepoTags": []string{name}}
			if at := slices.Index(d.own, name); at >= 0 {
				is["Config"] = map[string]any{"Labels": map[string]string{ownLabel: name, versionLabel: version}}
				is["Metadata"] = map[string]any{"LastTagTime": time.Unix(int64(at+1), 0)}
			}
			all = append(all, is)
		}
		return json.NewEncoder(c.Stdout).Encode(all)
	case "load":
		t := tar.NewReader(c.Stdin)
		for {
			h, err := t.Next()
			if err != nil {
				return err
			}
			if h.Name != "manifest.json" {
				continue
			}
			var list []struct{ RepoTags []string }
			if err := json.NewDecoder(t).Decode(&list); err != nil {
				return err
			}
			d.has[list[0].RepoTags[0]] = "v1.36.4"
			d.own = append(d.own, list[0].RepoTags[0])
			_, err = io.Copy(io.Discard, c.Stdin)
			return err
		}
	case "pull":
		name := c.Args[len(c.Args)-1]
		d.pulled = append(d.pulled, name)
		version, ok := d.registry[name]
		switch {
		case d.registry == nil:
			return fail("Error response from daemon: dial tcp: lookup registry-1.docker.io: no such host")
		case !ok:
			return fail("Error response from daemon: manifest for %s not found: manifest unknown", name)
		}
		d.has[name] = version
		return nil
	case "run":
		d.helpers = append(d.helpers, c.Args[slices.Index(c.Args, "--label")+1])
		version := d.has[c.Args[len(c.Args)-2]]
		if version == "" {
			return fail("cat: /kind/version: No such file or directory")
		}
		fmt.Fprintln(c.Stdout, version)
		return nil
	}
	return fail("unexpected %q", c.Args)
}

// archive writes an image as hack/kind-node does.
func archive(t *testing.T, dir, tag, version, arch string, age time.Duration) {
	t.Helper()
	path := filepath.Join(dir, "node-"+tag+".tar")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := tar.NewWriter(f)
	for _, file := range [][2]string{
		{"c.json", fmt.Sprintf(`{"os":"linux","architecture":%q,"config":{"Labels":{%q:"x",%q:%q}}}`, arch, ownLabel, versionLabel, version)},
		{"layer.tar", "x"},
		{"manifest.json", fmt.Sprintf(`[{"Config":"c.json","RepoTags":["%s:%s"],"Layers":["layer.tar"]}]`, Own, tag)},
	} {
		if err := w.WriteHeader(&tar.Header{Name: file[0], Mode: 0o644, Size: int64(len(file[1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, file[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-age)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func finder(t *testing.T, d *docker) Finder {
	t.Helper()
	if d.has == nil {
		d.has = map[string]string{}
	}
	return Finder{Store: images.Store{Runtime: runtime.With("docker", d)}, Kubernetes: "v1.36.4", Cache: t.TempDir()}
}

func TestFind(t *testing.T) {
	for _, tt := range []struct {
		name     string
		docker   docker
		archives bool
		want     string
		pulled   []string
	}{
		{
			name: "the official one is first, the very release before others", want: "kindest/node:v1.36.4",
			docker: docker{has: map[string]string{"kindest/node:v1.36.1": "", "kindest/node:v1.36.4": "", "kindest/node:v1.37.0": "", Own + ":a": "v1.36.4"}, own: []string{Own + ":a"}},
		},
		{name: "another patch will do", want: "kindest/node:v1.36.1", docker: docker{has: map[string]string{"kindest/node:v1.36.1": "", "kindest/node:v1.35.9": ""}}},
		{name: "a tag that says nothing is looked into", want: "kindest/node:mine", docker: docker{has: map[string]string{"kindest/node:mine": "v1.36.2"}}},
		{
			name: "of ours the youngest", want: Own + ":b", archives: true,
			docker: docker{has: map[string]string{Own + ":a": "v1.36.4", Own + ":b": "v1.36.4", Own + ":c": "v1.35.0"}, own: []string{Own + ":c", Own + ":a", Own + ":b"}},
		},
		{name: "the youngest archive", want: Own + ":young", archives: true, docker: docker{has: map[string]string{"kindest/node:v1.35.0": ""}}},
		{
			name: "the registry's", want: "kindest/node:v1.36.4", docker: docker{registry: map[string]string{"kindest/node:v1.36.4": "v1.36.4"}},
			pulled: []string{"kindest/node:v1.36.4"},
		},
		{
			name: "the registry has another patch", want: "kindest/node:v1.36.1", docker: docker{registry: map[string]string{"kindest/node:v1.36.1": "v1.36.1"}},
			pulled: []string{"kindest/node:v1.36.4", "kindest/node:v1.36.1"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := finder(t, &tt.docker)
			if tt.archives {
				archive(t, f.Cache, "old", "v1.36.4", goruntime.GOARCH, 2*time.Hour)
				archive(t, f.Cache, "young", "v1.36.4", goruntime.GOARCH, time.Hour)
				archive(t, f.Cache, "another", "v1.35.0", goruntime.GOARCH, 0)
				archive(t, f.Cache, "elsewhere", "v1.36.4", "riscv64", 0)
				if err := os.WriteFile(filepath.Join(f.Cache, "node-broken.tar"), []byte("x"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := f.Find(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got.Name != tt.want || !got.Loaded || minor(got.Kubernetes) != "v1.36" {
				t.Errorf("%+v, want %s", got, tt.want)
			}
			if d := cmp.Diff(tt.pulled, tt.docker.pulled); d != "" {
				t.Errorf("pulled %s", d)
			}
			if _, there := tt.docker.has[got.Name]; !there {
				t.Error("docker does not have it")
			}
		})
	}
}

// The error lists where the image was looked for, and every way to get one.
func TestMissing(t *testing.T) {
	d := &docker{}
	f := finder(t, d)
	_, err := f.Find(t.Context())
	if !coded.Is(err, Missing) {
		t.Fatal(err)
	}
	for _, want := range []string{"v1.36.4", f.Cache, "no such host"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if !slices.Equal(d.pulled, []string{"kindest/node:v1.36.4"}) {
		t.Errorf("a registry that does not answer was asked for %v", d.pulled)
	}
}

func TestCheck(t *testing.T) {
	d := &docker{
		has:      map[string]string{"kindest/node:v1.36.9": "", "mine:1": "v1.36.2", "kindest/node:v1.34.0": "", "kindest/node:v1.31.0": "", "alpine:3": ""},
		registry: map[string]string{"kindest/node:v1.36.3": "v1.36.3"},
	}
	f := finder(t, d)
	for name, want := range map[string]string{
		"kindest/node:v1.36.9": "", "mine:1": "", "kindest/node:v1.36.3": "", "kindest/node:v1.34.0": "",
		"kindest/node:v1.31.0": Version, "alpine:3": Unknown, "kindest/node:v9.9.9": Missing,
	} {
		got, err := f.Check(t.Context(), name)
		switch {
		case want == "" && (err != nil || got.Name != name), want != "" && !coded.Is(err, want):
			t.Errorf("%s: %+v, %v; want %q", name, got, err, want)
		}
	}
}

// What takes its time is said.
func TestSay(t *testing.T) {
	f := finder(t, &docker{})
	archive(t, f.Cache, "a", "v1.36.4", goruntime.GOARCH, 0)
	var said []string
	f.Progress = func(text string) { said = append(said, text) }
	if _, err := f.Find(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"loading " + Own + ":a from " + filepath.Join(f.Cache, "node-a.tar")}; !slices.Equal(said, want) {
		t.Errorf("said %v, want %v", said, want)
	}
}

// The containers that read an image have the owner label, so that the next sandbox finds those of a killed one.
func TestHelperOfAnother(t *testing.T) {
	for helper, want := range map[string]string{"": "vsphere-sandbox.helper=nodeimage", "vsphere-sandbox-lab": "vsphere-sandbox.helper=vsphere-sandbox-lab"} {
		d := &docker{has: map[string]string{"node:1": "v1.36.4"}}
		f := Finder{Store: images.Store{Runtime: runtime.With("docker", d)}, Kubernetes: "v1.36.4", Helper: helper}
		if _, err := f.Check(t.Context(), "node:1"); err != nil {
			t.Error(err)
		}
		if !slices.Equal(d.helpers, []string{want}) {
			t.Errorf("%q: %q", helper, d.helpers)
		}
	}
}
