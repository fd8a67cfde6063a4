package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestMountedIn(t *testing.T) {
	const mounts = "proc /proc proc rw 0 0\nproc /c/new/proc proc rw 0 0\nsysfs /c/new/sys sysfs rw 0 0\nproc /c/newer/proc proc rw 0 0\n" +
		`proc /a\040b\134/new/proc proc rw 0 0` + "\n"
	for dir, want := range map[string][]string{"/c/new": {"/c/new/proc", "/c/new/sys"}, `/a b\/new`: {`/a b\/new/proc`}} {
		if got := mountedIn(mounts, dir); !slices.Equal(got, want) {
			t.Errorf("in %s: got %q, want %q", dir, got, want)
		}
	}
}

// A cache may be a link, and a file to remove may be missing.
func TestRemove(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"cache/work/a/b": "x"})
	if err := os.Symlink("cache", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := remove(filepath.Join(dir, "link", "work")); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(dir, "cache")); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
