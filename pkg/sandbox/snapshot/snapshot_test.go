package snapshot

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// saved saves a small snapshot with a text.
func saved(t *testing.T, f Folder, name, text string) *Manifest {
	t.Helper()
	w, err := f.Create(name, true)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(w.Dir, "nodes", "a", "file"), text)
	m := &Manifest{Addresses: []string{"127.0.7.11:8989"}, Snapshot: api.Snapshot{Sandbox: "lab", SavedAt: time.Now(), Version: "v1", Kubernetes: "v1.37.2"}}
	if err := w.Commit(m); err != nil {
		t.Fatal(err)
	}
	return m
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func requireCode(t *testing.T, err error, code, text string) {
	t.Helper()
	if !coded.Is(err, code) || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want %s: … %s …", err, code, text)
	}
}

func content(t *testing.T, f Folder, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.Path(name), "nodes", "a", "file"))
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func TestSaveListDelete(t *testing.T) {
	root := t.TempDir()
	f := In(root, "lab")
	if all, err := f.List(); err != nil || len(all) != 0 {
		t.Fatalf("%v, %v of a sandbox without any", all, err)
	}
	saved(t, f, "one", "1")
	saved(t, f, "two", "22")
	if _, err := f.Create("one", false); !coded.Is(err, CodeExists) {
		t.Errorf("an existing one: %v", err)
	}
	saved(t, f, "one", "333") // replaced
	all, err := f.List()
	if err != nil || len(all) != 2 || all[0].Name != "two" || all[1].Name != "one" || all[1].Bytes != 3 || all[1].Kubernetes != "v1.37.2" {
		t.Errorf("%+v, %v", all, err)
	}
	m, err := f.Open("one")
	if err != nil || m.Verify() != nil || content(t, f, "one") != "333" {
		t.Errorf("%+v, %v", m, err)
	}
	if info, err := os.Stat(string(f)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder: %v, %v: it has passwords and keys", info, err)
	}
	if names, err := Sandboxes(root); err != nil || len(names) != 1 || names[0] != "lab" {
		t.Errorf("%v, %v", names, err)
	}
	if at, err := Reserved(root); err != nil || len(at) != 0 {
		t.Errorf("reserved: %v, %v, but the sandbox was not stopped", at, err)
	}
	saved(t, f, Stopped, "4")
	if at, err := Reserved(root); err != nil || !slices.Equal(at, m.Addresses) {
		t.Errorf("reserved: %v, %v, want %v", at, err, m.Addresses)
	}
	if err := f.Delete("two"); err != nil {
		t.Error(err)
	}
	requireCode(t, f.Delete("two"), CodeNotFound, "two")
	if n, err := f.DeleteAll(); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

func TestInvalidNames(t *testing.T) {
	f := In(t.TempDir(), "lab")
	for _, name := range []string{"", "..", "a/b", "A", ".new-a", "-a", strings.Repeat("a", 41)} {
		if _, err := f.Create(name, false); !coded.Is(err, CodeName) {
			t.Errorf("%q: %v", name, err)
		}
		if err := f.Delete(name); !coded.Is(err, CodeName) {
			t.Errorf("delete %q: %v", name, err)
		}
	}
}

// TestKilledSave: after kill -9 at any point there is the old snapshot or the new one. The next save removes the rest.
func TestKilledSave(t *testing.T) {
	f := In(t.TempDir(), "lab")
	saved(t, f, "one", "old")
	w, err := f.Create("one", true)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(w.Dir, "half"), "x")
	if all, _ := f.List(); len(all) != 1 || content(t, f, "one") != "old" {
		t.Errorf("with half a snapshot: %v", all)
	}
	// Between the two renames of Commit.
	if err := os.Rename(f.Path("one"), w.Dir+replaced); err != nil {
		t.Fatal(err)
	}
	if m, err := f.Open("one"); err != nil || m.Verify() != nil || content(t, f, "one") != "old" {
		t.Errorf("%v: the replaced snapshot was not put back", err)
	}
	saved(t, f, "two", "2")
	entries, err := os.ReadDir(string(f))
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, %v: want one and two", entries, err)
	}
}

func TestDamage(t *testing.T) {
	for name, tc := range map[string]struct {
		damage func(t *testing.T, dir string)
		text   string
	}{
		"content":  {func(t *testing.T, dir string) { write(t, filepath.Join(dir, "nodes", "a", "file"), "2") }, "nodes/a/file has another checksum"},
		"size":     {func(t *testing.T, dir string) { write(t, filepath.Join(dir, "nodes", "a", "file"), "12") }, "nodes/a/file has 2 bytes, and had 1"},
		"added":    {func(t *testing.T, dir string) { write(t, filepath.Join(dir, "pki", "ca.key"), "mine") }, "pki/ca.key was added"},
		"missing":  {func(t *testing.T, dir string) { _ = os.Remove(filepath.Join(dir, "nodes", "a", "file")) }, "nodes/a/file is missing"},
		"manifest": {func(t *testing.T, dir string) { write(t, filepath.Join(dir, manifestName), "{") }, "manifest.json cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			f := In(t.TempDir(), "lab")
			saved(t, f, "one", "1")
			tc.damage(t, f.Path("one"))
			m, err := f.Open("one")
			if err == nil {
				err = m.Verify()
			}
			requireCode(t, err, CodeDamaged, tc.text)
		})
	}
}

func TestOtherReleases(t *testing.T) {
	f := In(t.TempDir(), "lab")
	m := saved(t, f, "one", "1")
	if err := m.CheckKubernetes("v1.37.9"); err != nil {
		t.Error(err)
	}
	requireCode(t, m.CheckKubernetes("v1.36.5"), CodeOther, `of Kubernetes v1.37.2, and this sandbox runs v1.36.5`)
	text, err := os.ReadFile(filepath.Join(f.Path("one"), manifestName))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	all["format"], all["version"] = 0, "v0.1.0"
	if text, err = json.Marshal(all); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(f.Path("one"), manifestName), string(text))
	_, err = f.Open("one")
	requireCode(t, err, CodeOther, "format 0, of vsphere-sandbox v0.1.0; this release restores format 1")
	if listed, err := f.List(); err != nil || len(listed) != 1 || listed[0].Problem == "" {
		t.Errorf("%+v, %v", listed, err)
	}
	_, err = Read(t.TempDir())
	requireCode(t, err, CodeNotFound, "is no snapshot")
}

func TestRelocate(t *testing.T) {
	dir := t.TempDir()
	for name, target := range map[string]string{"in": "/state/lab/sim/volumes/a", "beside": "/state/lab-2/x", "relative": "../x"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "csi", mountTable), `{"/state/lab/nodes/a":"/state/lab-2/b"}`)
	if err := Relocate(dir, "/state/lab", "/state/copy"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"in": "/state/copy/sim/volumes/a", "beside": "/state/lab-2/x", "relative": "../x"} {
		if got, err := os.Readlink(filepath.Join(dir, name)); got != want {
			t.Errorf("%s leads to %s, %v", name, got, err)
		}
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "csi", mountTable)); string(text) != `{"/state/copy/nodes/a":"/state/lab-2/b"}` {
		t.Errorf("mounts: %s", text)
	}
	if err := Relocate(filepath.Join(dir, "none"), "/a", "/b"); err != nil {
		t.Error(err)
	}
}
