package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// The two youngest archives stay, and what is still of use; nothing else is touched.
func TestRetire(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"node-a.tar": "", "node-b.tar": "", "node-c.tar": "", "node-d.tar": "", "node-d.tar.new": "",
		"debian-now/etc/x": "", "debian-old/etc/x": "", "lock": "", "other.tar": "",
	})
	for i, name := range []string{"node-b.tar", "node-d.tar", "node-a.tar", "node-c.tar"} { // from old to young
		at := time.Unix(int64(1000+i), 0)
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := retire(dir, filepath.Join(dir, "debian-now")); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"debian-now", "lock", "node-a.tar", "node-c.tar", "other.tar"}; !slices.Equal(left, want) {
		t.Errorf("left %v, want %v", left, want)
	}
}
