package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A step is never silent for five seconds.
func TestStepSpeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		if err := step(&said, "waiting", func() error { time.Sleep(10 * time.Second); return nil }); err != nil {
			t.Fatal(err)
		}
		const want = "waiting\n     4s  waiting\n     8s  waiting\n  done in 10.0s\n"
		if said.String() != want {
			t.Errorf("it said\n%s, want\n%s", said.String(), want)
		}
	})
}

func TestStepFails(t *testing.T) {
	var said bytes.Buffer
	wrong := errors.New("no room")
	err := step(&said, "packing", func() error { return wrong })
	if !errors.Is(err, wrong) || err.Error() != "packing: no room" {
		t.Errorf("error %v", err)
	}
	if strings.Contains(said.String(), "done") {
		t.Errorf("it said that it was done: %s", said.String())
	}
}

func TestCommandReportsWhatWentWrong(t *testing.T) {
	err := command(t.Context(), "", nil, "sh", "-c", "echo first; echo the disk is full >&2; exit 3")
	if err == nil || !strings.Contains(err.Error(), "the disk is full") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error %v", err)
	}
}

// What a program has started ends with it.
func TestCommandEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	err := command(ctx, "", nil, "sh", "-c", "sleep 60 & wait")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %v: the child of the program kept the pipe open", took)
	}
}

func TestTail(t *testing.T) {
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{{"", 2, ""}, {"a\n", 2, "a"}, {"a\nb\nc\n", 2, "b\nc"}} {
		if got := tail(tt.text, tt.n); got != tt.want {
			t.Errorf("tail(%q, %d) = %q, want %q", tt.text, tt.n, got, tt.want)
		}
	}
}

// What programs say of themselves is what they are, nodes are made of the releases that sandboxes have, and the default is that of
// kind's default image.
func TestReleases(t *testing.T) {
	const table = "../../internal/kubernetes/release/release.go"
	want := map[string][]string{
		"programs/containerd/go.mod": {"\tgithub.com/containerd/containerd/v2 " + containerdVersion},
		table:                        {"func Kind() string { return \"" + releases()[0].version + "\" }"},
	}
	for _, r := range releases() {
		want["programs/kube/"+r.modFile()] = []string{"\tk8s.io/kubernetes " + r.version}
		want[table] = append(want[table], "{\""+r.version+"\", "+r.minor()+", ")
	}
	for file, lines := range want {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if !strings.Contains(string(text), line) {
				t.Errorf("%s does not have %q", file, line)
			}
		}
	}
}

func TestFind(t *testing.T) {
	for _, r := range releases() {
		for _, name := range []string{r.version, r.name()} {
			if got, err := find(name); err != nil || got != r {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		}
	}
	if _, err := find("v1.33"); err == nil || !strings.Contains(err.Error(), "want one of v1.36, ") {
		t.Errorf("v1.33: error %v", err)
	}
}

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
