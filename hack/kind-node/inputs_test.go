package main

import (
	"os"
	"path/filepath"
	"testing"
)

// write makes files in a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func key(t *testing.T, dir string) string {
	t.Helper()
	got, err := inputs(dir, releases()[0])
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestInputs(t *testing.T) {
	source := map[string]string{
		"debian.go": "a", "go.mod": "m", "programs/kube/go.sum": "s", "programs/kube/main.go": "k", "rootfs/kind/bin/x": "#!",
	}
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, dir string)
		want   bool // another hash
	}{
		{"nothing", func(*testing.T, string) {}, false},
		{"a text", func(t *testing.T, dir string) { write(t, dir, map[string]string{"README.md": "b"}) }, false},
		{"a test", func(t *testing.T, dir string) { write(t, dir, map[string]string{"debian_test.go": "b"}) }, false},
		{"a script that is not in the image", func(t *testing.T, dir string) { write(t, dir, map[string]string{"try": "b"}) }, false},
		{"the builder", func(t *testing.T, dir string) { write(t, dir, map[string]string{"debian.go": "b"}) }, true},
		{"the modules of another release of Kubernetes", func(t *testing.T, dir string) { write(t, dir, map[string]string{"programs/kube/v1.35.mod": "b"}) }, false},
		{"a module's release", func(t *testing.T, dir string) { write(t, dir, map[string]string{"programs/kube/go.sum": "b"}) }, true},
		{"a node's file", func(t *testing.T, dir string) { write(t, dir, map[string]string{"rootfs/kind/bin/x": "b"}) }, true},
		{"a new file of a node", func(t *testing.T, dir string) { write(t, dir, map[string]string{"rootfs/kind/bin/y": "b"}) }, true},
		{"a node's file that can be run now", func(t *testing.T, dir string) {
			if err := os.Chmod(filepath.Join(dir, "rootfs/kind/bin/x"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"another umask", func(t *testing.T, dir string) {
			if err := os.Chmod(filepath.Join(dir, "rootfs/kind/bin/x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, source)
			before := key(t, dir)
			if len(before) != 12 {
				t.Fatalf("%q is not a tag of 12 digits", before)
			}
			tt.change(t, dir)
			if got := key(t, dir) != before; got != tt.want {
				t.Errorf("another hash: %v, want %v", got, tt.want)
			}
		})
	}
}
