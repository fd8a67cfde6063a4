package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
)

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "token")
	for _, want := range []string{"one", "two, longer", ""} {
		if err := atomicfile.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		expect(t, path, want)
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v, want it for its owner only", info.Mode(), err)
		}
	}
	only(t, dir, "token")
}

// What a link leads to is not written to: another user may have planted the link.
func TestWriteFileReplacesLinks(t *testing.T) {
	dir := t.TempDir()
	precious, path := filepath.Join(dir, "precious"), filepath.Join(dir, "note")
	if err := errors.Join(os.WriteFile(precious, []byte("precious"), 0o644), os.Symlink(precious, path)); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.WriteFile(path, []byte("note"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, path, "note")
	expect(t, precious, "precious")
	only(t, dir, "note", "precious")
}

// An error names the path that the caller knows, keeps its kind, and leaves nothing behind.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "full/of"), 0o700), os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{"none/file": fs.ErrNotExist, "file/below": syscall.ENOTDIR, "full": fs.ErrExist} {
		path = filepath.Join(dir, path)
		err := atomicfile.WriteFile(path, nil, 0o600)
		if !errors.Is(err, want) || !strings.HasPrefix(err.Error(), "write "+path+": ") {
			t.Errorf("%s: %v", path, err)
		}
	}
	only(t, dir, "file", "full")
}

func TestFile(t *testing.T) {
	for name, tc := range map[string]struct {
		there  string // at the path already
		end    func(*atomicfile.File) error
		want   string // at the path afterward
		exists bool   // the end returns fs.ErrExist
	}{
		"commit":               {end: (*atomicfile.File).Commit, want: "new"},
		"commit over a file":   {there: "old", end: (*atomicfile.File).Commit, want: "new"},
		"commit new":           {end: (*atomicfile.File).CommitNew, want: "new"},
		"commit new, too late": {there: "old", end: (*atomicfile.File).CommitNew, want: "old", exists: true},
		"discard":              {there: "old", end: func(*atomicfile.File) error { return nil }, want: "old"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			f, err := atomicfile.Create(path, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString("new"); err != nil {
				t.Fatal(err)
			}
			if tc.there != "" {
				if err := os.WriteFile(path, []byte(tc.there), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := tc.end(f); errors.Is(err, fs.ErrExist) != tc.exists || err != nil && !tc.exists {
				t.Error(err)
			}
			f.Discard()
			expect(t, path, tc.want)
			only(t, dir, "file")
		})
	}
}

func expect(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s: %q, %v, want %q", path, got, err, want)
	}
}

// only fails the test unless dir has these entries and no others.
func only(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s has %q, %v, want %q", dir, got, err, want)
	}
}

// TestMounted: files are links through ..data, which is replaced in one step, and nothing of the version before is left.
func TestMounted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mounted")
	for _, token := range []string{"one", "two", "three"} {
		if token == "three" { // a process was killed before the last step
			if err := os.Symlink("..gone", filepath.Join(dir, "..data_tmp")); err != nil {
				t.Fatal(err)
			}
		}
		if err := atomicfile.WriteMounted(dir, map[string][]byte{"token": []byte(token), "namespace": []byte("n")}); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "token")); err != nil || string(got) != token {
			t.Errorf("token %q, %v", got, err)
		}
		if to, err := os.Readlink(filepath.Join(dir, "token")); err != nil || to != "..data/token" {
			t.Errorf("token is a link to %q, %v", to, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 { // two links, ..data and its folder
		t.Errorf("%v, %v", entries, err)
	}
}
