package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestNeeded(t *testing.T) {
	const program = "usr/bin/ls"
	if _, err := os.Stat("/" + filepath.Join(libraries, loader)); err != nil {
		t.Skip("this machine is not Debian's amd64")
	}
	got, err := needed("/", []string{program})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{filepath.Join(libraries, loader), filepath.Join(libraries, "libc.so.6")} {
		if !slices.Contains(got, want) {
			t.Errorf("%s needs %v, without %s", program, got, want)
		}
	}
}

// A root without a library that a program needs is found out when the image is made.
func TestNeededIsMissing(t *testing.T) {
	if _, err := os.Stat("/" + filepath.Join(libraries, loader)); err != nil {
		t.Skip("this machine is not Debian's amd64")
	}
	root := t.TempDir()
	if err := install("/usr/bin/ls", filepath.Join(root, "usr/bin/ls")); err != nil {
		t.Fatal(err)
	}
	if _, err := needed(root, []string{"usr/bin/ls"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want one of a file that does not exist", err)
	}
}
