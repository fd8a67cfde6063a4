// Package upstreamtest is a Go toolchain for the tests of packages that build releases of upstream, and their check of errors.
//
// Floor 0.
package upstreamtest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// Go returns the path of a toolchain that runs a shell script with go's arguments.
func Go(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "go")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// WantError requires an error with a code whose text has all words, and returns it.
func WantError(t *testing.T, err error, code string, words ...string) *coded.Error {
	t.Helper()
	e, ok := errors.AsType[*coded.Error](err)
	if !ok {
		t.Fatalf("got %v, want an error of code %s", err, code)
	}
	if e.Code != code {
		t.Errorf("code %s, want %s: %v", e.Code, code, err)
	}
	for _, w := range words {
		if !strings.Contains(e.Error(), w) {
			t.Errorf("%q does not have %q", e.Error(), w)
		}
	}
	return e
}
