package program

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A rebuilt program is reported once it is complete: not a part of it, not an identical one, not one that cannot run.
func TestWatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ccm")
	write := func(text string, mode os.FileMode) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path+".next", []byte(text), mode), os.Rename(path+".next", path)); err != nil {
			t.Fatal(err)
		}
	}
	write("#!/bin/sh\n# one\n", 0o755)
	reported := make(chan Program, 10)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- Watch(ctx, path, func(p Program) { reported <- p }) }()
	time.Sleep(2 * Settle) // what it must not tell takes time
	write("#!/bin/sh\n# one\n", 0o755)
	write("#!/bin/sh\n# not executable\n", 0o644)
	time.Sleep(2 * Settle)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"#!/bin/sh\n", "# two", ", in parts\n"} {
		if _, err := f.WriteString(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	want, err := digestOf(path)
	if err != nil {
		t.Fatal(err)
	}
	if p := <-reported; p.Digest != want || p.Path != path {
		t.Errorf("told %+v, want %s", p, want)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(reported) > 0 {
		t.Errorf("and %+v", <-reported)
	}
	if err := Watch(t.Context(), filepath.Join(t.TempDir(), "none", "ccm"), nil); err == nil {
		t.Error("a folder that there is not is watched")
	}
}
