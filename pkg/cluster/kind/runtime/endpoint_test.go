package runtime

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// installed puts a docker on the PATH that is this script.
func installed(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// A Fixed runtime asks the same daemon even if the environment or the user's contexts change.
func TestFixed(t *testing.T) {
	installed(t, `[ "$1 $2" = "context inspect" ] && { echo "${DOCKER_HOST:-unix:///run/first.sock}"; exit; }
echo "$DOCKER_HOST$DOCKER_CONTEXT$DOCKER_TLS_VERIFY"`)
	t.Setenv("DOCKER_HOST", "")
	r := New("docker").Fixed(t.Context())
	t.Setenv("DOCKER_HOST", "unix:///run/second.sock")
	t.Setenv("DOCKER_CONTEXT", "third")
	t.Setenv("DOCKER_TLS_VERIFY", "1")
	at, fixed := r.Endpoint()
	if at != "unix:///run/first.sock" || !fixed {
		t.Errorf("fixed to %q, %t", at, fixed)
	}
	for name, r := range map[string]*Runtime{"again": r.Fixed(t.Context()), "of a note": At("docker", at)} {
		if out, err := r.Output(t.Context(), "ps"); err != nil || strings.TrimSpace(string(out)) != at {
			t.Errorf("%s: asked %q, %v", name, out, err)
		}
	}
	if at, _ := New("docker").Fixed(t.Context()).Endpoint(); at != "unix:///run/second.sock" {
		t.Errorf("another is fixed to %q", at)
	}
	if host := At("docker", "ssh://there").Remote(t.Context()); host != "ssh://there" {
		t.Errorf("remote: %q", host)
	}
}

// A runtime without a known daemon, or with a test's runner, stays as it is.
func TestNotFixed(t *testing.T) {
	installed(t, "exit 1")
	for name, r := range map[string]*Runtime{"not told": New("docker"), "a test's": With("docker", script{})} {
		if is := r.Fixed(t.Context()); is != r {
			t.Errorf("%s: is another", name)
		}
	}
}

func TestEnviron(t *testing.T) {
	env := []string{"A=1", "DOCKER_HOST=x", "CONTAINER_HOST=y", "CONTAINERD_ADDRESS=z", "CONTAINER_CONNECTION=c", "B=2"}
	for _, tc := range []struct {
		kind, endpoint string
		want           []string
	}{
		{"docker", "unix:///d", []string{"A=1", "CONTAINER_HOST=y", "CONTAINERD_ADDRESS=z", "B=2", "DOCKER_HOST=unix:///d"}},
		{"podman", "", []string{"A=1", "DOCKER_HOST=x", "CONTAINERD_ADDRESS=z", "B=2"}},
		{"nerdctl", "/run/c", []string{"A=1", "DOCKER_HOST=x", "CONTAINER_HOST=y", "B=2", "CONTAINERD_ADDRESS=/run/c"}},
	} {
		if diff := cmp.Diff(tc.want, environ(env, tc.kind, tc.endpoint)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.kind, diff)
		}
	}
}
