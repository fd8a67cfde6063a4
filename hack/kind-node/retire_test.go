package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// The two youngest archives of a release stay, those of others, and what is still of use; nothing else is touched.
func TestRetire(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"node-v1.36.4-a.tar": "", "node-v1.36.4-b.tar": "", "node-v1.36.4-c.tar": "", "node-v1.36.4-d.tar": "", "node-d.tar.new": "", "node-0eb52f99dbff.tar": "",
		"node-v1.35.4-e.tar": "",
		"debian-now/etc/x":   "", "debian-old/etc/x": "", "lock": "", "other.tar": "",
	})
	for i, name := range []string{"node-v1.36.4-b.tar", "node-v1.36.4-d.tar", "node-v1.36.4-a.tar", "node-v1.36.4-c.tar"} { // from old to young
		at := time.Unix(int64(1000+i), 0)
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := retire(dir, releases()[0], filepath.Join(dir, "debian-now")); err != nil {
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
	if want := []string{"debian-now", "lock", "node-v1.35.4-e.tar", "node-v1.36.4-a.tar", "node-v1.36.4-c.tar", "other.tar"}; !slices.Equal(left, want) {
		t.Errorf("left %v, want %v", left, want)
	}
}
