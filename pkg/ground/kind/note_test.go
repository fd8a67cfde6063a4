package kind

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// The note says which daemon has the containers.
func TestKindNote(t *testing.T) {
	for _, tc := range []struct {
		name string
		with *runtime.Runtime
		want string
	}{
		{"a daemon", runtime.At("docker", "unix:///run/first.sock"), "unix:///run/first.sock"},
		{"the default one", runtime.At("podman", ""), ""},
	} {
		k, _ := idle(t)
		k.rt = tc.with
		if err := k.note("node:1"); err != nil {
			t.Fatal(err)
		}
		got, err := Runtime(k.Dir)
		if err != nil || got == nil || got.Name() != tc.with.Name() {
			t.Errorf("%s: %v, %v", tc.name, got, err)
			continue
		}
		if at, fixed := got.Endpoint(); at != tc.want || !fixed {
			t.Errorf("%s: at %q, %t", tc.name, at, fixed)
		}
	}
}

// Notes of earlier releases name no daemon; a directory without one has had no containers.
func TestKindNotes(t *testing.T) {
	for note, tc := range map[string]struct{ with, bad bool }{
		"":                     {},
		`{"runtime":"docker"}`: {with: true},
		"{broken":              {bad: true},
		"{}":                   {bad: true},
	} {
		dir := t.TempDir()
		if note != "" {
			if err := os.WriteFile(filepath.Join(dir, noteFile), []byte(note), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := Runtime(dir)
		if (got != nil) != tc.with || (err != nil) != tc.bad {
			t.Errorf("%s: %v, %v", note, got, err)
			continue
		}
		if tc.with {
			if at, fixed := got.Endpoint(); fixed {
				t.Errorf("%s: at %q", note, at)
			}
		}
	}
}
