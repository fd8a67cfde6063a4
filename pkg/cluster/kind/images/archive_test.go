package images

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// carry packs two images of one runtime into a file.
func carry(t *testing.T) (path string, from *docker) {
	t.Helper()
	from = &docker{t: t, has: map[string]held{"example/a:1": saved(t, "example/a:1", "first"), "example/b:1": saved(t, "example/b:1", "other")}}
	var b bytes.Buffer
	w := NewWriter(&b, "v0.0.1")
	for _, item := range []Item{{Name: "example/a:1", Part: "node", Kubernetes: "v1.2.3"}, {Name: "example/b:1", Part: "program"}} {
		if err := w.AddFrom(t.Context(), from.store(), item); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "images.tar")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, from
}

func TestCarry(t *testing.T) {
	path, from := carry(t)
	var whole int64
	a, err := Open(t.Context(), path, func(_, w int64) { whole = w })
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || whole != info.Size() {
		t.Errorf("told of %d bytes, %v", whole, err)
	}
	var names []string
	for _, i := range a.contents.Images {
		names = append(names, strings.Join([]string{i.Name, i.Part, i.Kubernetes, i.Platform}, " "))
		if !slices.Equal(i.Layers, from.has[i.Name].layers) || !strings.HasPrefix(i.ID, "sha256:") || i.Size == 0 {
			t.Errorf("%+v", i)
		}
	}
	if d := cmp.Diff([]string{"example/a:1 node v1.2.3 linux/amd64", "example/b:1 program  linux/amd64"}, names); d != "" {
		t.Error(d)
	}
	// The first is there already; again, nothing is done.
	to := &docker{t: t, has: map[string]held{"example/a:1": from.has["example/a:1"]}}
	for _, want := range [][]bool{{true, false}, {true, true}} {
		loaded, err := a.Load(t.Context(), to.store(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := []bool{loaded[0].AlreadyPresent, loaded[1].AlreadyPresent}; !slices.Equal(got, want) {
			t.Errorf("had %v, want %v", got, want)
		}
	}
	if !slices.Equal(to.said, []string{"load"}) || !slices.Equal(to.has["example/b:1"].layers, from.has["example/b:1"].layers) {
		t.Errorf("%v, %+v", to.said, to.has)
	}
	// One of the same name that is another is replaced.
	to.has["example/a:1"] = held{layers: []string{"sha256:2"}}
	if loaded, err := a.Load(t.Context(), to.store(), nil); err != nil || loaded[0].AlreadyPresent || !loaded[1].AlreadyPresent {
		t.Errorf("%+v, %v", loaded, err)
	}
	to = &docker{t: t, has: map[string]held{}, wrongly: true}
	if _, err := a.Load(t.Context(), to.store(), nil); !coded.Is(err, Unlike) {
		t.Errorf("what is loaded is another image: %v", err)
	}
}

// Docker itself takes an archive.
func TestDockerLoadsIt(t *testing.T) {
	path, from := carry(t)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	to := &docker{t: t, has: map[string]held{}}
	if err := to.store().Load(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	for name, h := range from.has {
		if !slices.Equal(to.has[name].layers, h.layers) {
			t.Errorf("%s: %v, want %v", name, to.has[name].layers, h.layers)
		}
	}
}

// Any changed byte and any changed length is detected, and nothing is loaded.
func TestDamaged(t *testing.T) {
	path, _ := carry(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(b []byte) error {
		t.Helper()
		damaged := filepath.Join(t.TempDir(), "x.tar")
		if err := os.WriteFile(damaged, b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), damaged, nil)
		return err
	}
	for _, word := range []string{"first", "second of example/a:1", "other", `"diff_ids"`, `"Config":"0/`} {
		b := bytes.Clone(whole)
		at := bytes.Index(b, []byte(word))
		if at < 0 {
			t.Fatalf("no %s", word)
		}
		b[at+1] ^= 1
		if err := try(b); !coded.Is(err, Broken) || !strings.Contains(err.Error(), ", want sha256:") {
			t.Errorf("a byte of %s: %v", word, err)
		}
	}
	for cut := 512; cut < bytes.LastIndex(whole, []byte(`"files"`)); cut += 512 {
		if err := try(whole[:cut]); !coded.Is(err, Broken) {
			t.Errorf("%d bytes of %d: %v", cut, len(whole), err)
		}
	}
}

func TestForeign(t *testing.T) {
	known, err := json.Marshal(Contents{APIVersion: "sandbox.vsphere/v2", Kind: kindName})
	if err != nil {
		t.Fatal(err)
	}
	marker := entry{name: markFile, text: "x"}
	for name, b := range map[string][]byte{
		"a text":                 []byte("hello"),
		"nothing":                nil,
		"an empty tar":           pack(t),
		"docker's":               saved(t, "example/a:1", "x").archive,
		"one of a later release": pack(t, marker, entry{name: contentsFile, text: string(known)}),
	} {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), path, nil); !coded.Is(err, Foreign) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(t.Context(), t.TempDir(), nil); !coded.Is(err, Foreign) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Open(t.Context(), filepath.Join(t.TempDir(), "none"), nil); !os.IsNotExist(unwrapped(err)) {
		t.Errorf("no file: %v", err)
	}
	path, _ := carry(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, path, nil); err != context.Canceled {
		t.Errorf("interrupted: %v", err)
	}
}

func unwrapped(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok || os.IsNotExist(err) {
			return err
		}
		err = u.Unwrap()
	}
}

// What is not an image, or not the one that was asked for, is not packed.
func TestAdd(t *testing.T) {
	good := saved(t, "example/a:1", "x")
	for _, tt := range []struct {
		name    string
		archive []byte
		item    string
		want    string
	}{
		{"by Podman's name", saved(t, "localhost/example/a:1", "x").archive, "example/a:1", ""},
		{"under another name", good.archive, "example/z:1", ""},
		{"no image", pack(t, entry{name: "x", text: "y"}), "a", "image a: is no image: it has no manifest.json"},
		{"cut short", good.archive[:2000], "a", "it is truncated"},
		{"a layer that is another", bytes.Replace(good.archive, []byte("second of example"), []byte("SECOND of example"), 1), "a", ", want sha256:"},
		{"a file that is outside", pack(t, entry{name: "../x", text: "y"}), "a", "outside of the archive"},
	} {
		w := NewWriter(&bytes.Buffer{}, "v0.0.1")
		err := w.Add(t.Context(), bytes.NewReader(tt.archive), Item{Name: tt.item})
		switch {
		case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		case tt.want != "" && w.Close() == nil:
			t.Errorf("%s: it is completed all the same", tt.name)
		}
	}
}

func TestDescribe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node.tar")
	archive := saved(t, "example/a:1", "x").archive
	if err := os.WriteFile(path, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Describe(t.Context(), path)
	want := Described{Name: "example/a:1", Platform: "linux/amd64", Size: int64(len(archive))}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
	if err := os.WriteFile(path, archive[:len(archive)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Describe(t.Context(), path); !coded.Is(err, Broken) {
		t.Errorf("half of it: %v", err)
	}
}

// However many descriptions an archive has, only so much of them is kept.
func TestManyDescriptions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "many.tar")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, one := tar.NewWriter(f), []byte("["+strings.Repeat(" ", describing-2)+"]")
	for n := range mostDescribing/describing + 1 {
		if err := w.WriteHeader(&tar.Header{Name: fmt.Sprint(n), Size: int64(len(one)), Typeflag: tar.TypeReg, Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(one); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Describe(t.Context(), path); !coded.Is(err, Broken) || !strings.Contains(err.Error(), "the description of the images is longer than 32 MiB") {
		t.Error(err)
	}
}
