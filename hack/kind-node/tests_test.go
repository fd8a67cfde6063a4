package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Each name is that of one image, and no two images of the same files are the same.
func TestTestImages(t *testing.T) {
	seen := map[string]bool{}
	for _, i := range testImages() {
		for _, key := range i.keys {
			if seen[key] {
				t.Errorf("%s is the name of two images", key)
			}
			seen[key] = true
		}
		if i.files == "" || len(i.entrypoint)+len(i.command) == 0 || len(i.names) > 0 {
			t.Errorf("%+v", i)
		}
	}
}

// An image has the programs, what they are linked with, busybox as every other command, and the accounts that tests use.
func TestBase(t *testing.T) {
	if _, err := os.Stat("/" + filepath.Join(libraries, loader)); err != nil {
		t.Skip("this machine is not Debian's amd64")
	}
	b := &build{options: &options{cache: t.TempDir()}, work: t.TempDir()}
	of := &tests{build: b}
	root := of.debianDir()
	for from, to := range map[string]string{
		"/usr/bin/ls": "usr/bin/busybox", "/usr/bin/cat": "usr/bin/nc.openbsd", "/bin/bash": "usr/bin/bash", "/" + libraries + "/" + loader: libraries + "/" + loader,
	} {
		if err := install(from, filepath.Join(root, to)); err != nil {
			t.Fatal(err)
		}
	}
	linked, err := needed("/", []string{"usr/bin/ls", "usr/bin/cat", "usr/bin/bash"})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range linked {
		if err := install("/"+path, filepath.Join(root, path)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, root, map[string]string{"etc/passwd": "root:x:0:0::/root:/bin/sh\n", "etc/group": "root:x:0:\n"})
	if err := of.base("agnhost", []string{"usr/bin/busybox", "usr/bin/nc.openbsd", "usr/bin/bash"}, []string{"sh", "nc", "ls"}); err != nil {
		t.Fatal(err)
	}
	if err := of.base("other", []string{"usr/bin/busybox"}, []string{"sh"}); err != nil {
		t.Fatal(err)
	}
	if group, err := os.ReadFile(filepath.Join(b.in("images/other"), "etc/group")); err != nil || string(group) != "root:x:0:\n" {
		t.Errorf("only the image of agnhost has more accounts: %q, %v", group, err)
	}
	image := b.in("images/agnhost")
	for link, want := range map[string]string{"usr/bin/sh": "bash", "usr/bin/ls": "busybox", "usr/bin/nc": "nc.openbsd", "bin": "usr/bin"} {
		if got, err := os.Readlink(filepath.Join(image, link)); err != nil || got != want {
			t.Errorf("%s leads to %q, want %q: %v", link, got, want, err)
		}
	}
	if info, err := os.Stat(filepath.Join(image, "tmp")); err != nil || info.Mode()&os.ModeSticky == 0 {
		t.Errorf("/tmp: %v, %v", info, err)
	}
	group, err := os.ReadFile(filepath.Join(image, "etc/group"))
	if err != nil || string(group) != "root:x:0:\n"+moreGroups {
		t.Errorf("/etc/group: %q, %v", group, err)
	}
	if _, err := os.Stat(filepath.Join(image, libraries, "libc.so.6")); err != nil {
		t.Error(err)
	}
}

// An archive of other inputs is removed, and one of another release stays.
func TestRetireTests(t *testing.T) {
	dir, r := t.TempDir(), release{"v1.36.4"}
	current, other := testsName(r, "new"), testsName(release{"v1.35.4"}, "old")
	for _, name := range []string{current, other, testsName(r, "old"), testsName(r, "cut") + ".new"} {
		write(t, dir, map[string]string{name: ""})
	}
	if err := retireTests(dir, r, filepath.Join(dir, current)); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || !slices.Equal(left, []string{filepath.Join(dir, other), filepath.Join(dir, current)}) {
		t.Errorf("%v, %v", left, err)
	}
}
