package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate"
)

func two(text string) []migrate.File {
	return []migrate.File{{Name: "a", Data: []byte(text)}, {Name: "b", Data: []byte(text), Secret: true}}
}

// holds returns the files of a folder by name.
func holds(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			all[e.Name()] = "folder"
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(data) + " " + info.Mode().String()
	}
	return all
}

const open, closed = " -rw-r--r--", " -rw-------"

func TestWrite(t *testing.T) {
	for name, tc := range map[string]struct {
		before  map[string]string // nil: there is no folder
		folders []string
		replace bool
		fails   bool
		want    map[string]string
	}{
		"new":     {want: map[string]string{"a": "new" + open, "b": "new" + closed}},
		"empty":   {before: map[string]string{}, want: map[string]string{"a": "new" + open, "b": "new" + closed}},
		"others":  {before: map[string]string{"x": "old"}, fails: true, want: map[string]string{"x": "old" + open}},
		"replace": {before: map[string]string{"x": "old", "b": "old"}, replace: true, want: map[string]string{"a": "new" + open, "b": "new" + closed, "x": "old" + open}},
		"a folder in the way of the second": {
			before: map[string]string{"a": "old"}, folders: []string{"b"}, replace: true, fails: true,
			want: map[string]string{"a": "old" + open, "b": "folder"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "out")
			if tc.before != nil {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for name, text := range tc.before {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range tc.folders {
				if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			err := Write(dir, two("new"), tc.replace)
			if (err != nil) != tc.fails {
				t.Fatalf("error %v", err)
			}
			if d := cmp.Diff(tc.want, holds(t, dir)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(map[string]string{"out": "folder"}, holds(t, parent)); d != "" {
				t.Errorf("beside the folder: %s", d)
			}
		})
	}
}

// TestFolderMode: only the owner may read a new folder, with any umask; an existing one keeps its mode.
func TestFolderMode(t *testing.T) {
	there, made := t.TempDir(), filepath.Join(t.TempDir(), "made")
	if err := os.Chmod(there, 0o750); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]fs.FileMode{there: 0o750, made: 0o700} {
		if err := Write(dir, two("x"), false); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != want {
			t.Errorf("%v, %v, want %v", err, info.Mode(), want)
		}
	}
}

func TestOccupied(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"one", "two", "three", "four"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	err := Write(dir, two("x"), false)
	if _, ok := errors.AsType[*Occupied](err); !ok || err.Error() != "folder "+dir+" is not empty: it holds four, one, three and 1 more" {
		t.Errorf("%v", err)
	}
}

func TestNowhere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "no", "such")
	if err := Write(dir, two("x"), false); !errors.Is(err, fs.ErrNotExist) || err.Error() != "folder "+dir+": no such file or directory" {
		t.Errorf("no parent: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(file, two("x"), true); err == nil || err.Error() != "folder "+file+": not a directory" {
		t.Errorf("a file: %v", err)
	}
}
