package kind

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// up's arguments for a boot that must be refused.
func refusedBoot(name string, more ...string) []string {
	return append([]string{"--name", name, "up", "--detach", "single", "--cluster", "kind"}, more...)
}

// Where there is no Docker, or one that does not answer, or not us, that is said, with the way out.
func TestNoDocker(t *testing.T) {
	t.Run("not installed", func(t *testing.T) {
		h := newHome(t)
		h.Env = append(h.Env, "PATH="+h.Tmp)
		h.refused(h.Try(refusedBoot("none")...), 4, "error: ", "installed", "try: ")
	})
	t.Run("stopped", func(t *testing.T) {
		h := newHome(t)
		h.Env = append(h.Env, "DOCKER_HOST=unix://"+filepath.Join(h.Dir, "none.sock"), "KIND_EXPERIMENTAL_PROVIDER=docker")
		h.refused(h.Try(refusedBoot("stopped")...), 4, "does not respond", "try: ")
	})
	t.Run("denied", func(t *testing.T) {
		h := newHome(t)
		unprivileged, err := program.Unprivileged()
		if err != nil {
			t.Skip(err)
		}
		if unprivileged == nil {
			t.Skip("nobody can be refused by a socket of their own: takes root")
		}
		socket := filepath.Join(h.Dir, "denied.sock")
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if err := os.Chmod(socket, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{h.Dir, h.State, h.Tmp} {
			if err := os.Chown(path, int(unprivileged.Uid), int(unprivileged.Gid)); err != nil {
				t.Fatal(err)
			}
		}
		h.As = unprivileged
		h.Env = append(h.Env, "DOCKER_HOST=unix://"+socket, "KIND_EXPERIMENTAL_PROVIDER=docker", "XDG_CACHE_HOME="+h.Tmp)
		// A checkout may be in a folder that other users cannot enter.
		if h.Binary, err = program.Copy(h.Dir, binary); err != nil {
			t.Fatal(err)
		}
		h.refused(h.Try(refusedBoot("denied")...), 4, "denies access to this user", "try: ")
		h.As = nil
	})
}

// What would be done is printed, and nothing is done.
func TestDryRun(t *testing.T) {
	h := newHome(t)
	out := h.Must("--name", "dry", "up", "single", "--cluster", "kind", "--kind-image", node, "--dry-run")
	for _, want := range []string{"kind.x-k8s.io/v1alpha4", "/kind/product_uuid", "cloud-provider"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	h.nothingLeft()
}

// An image that is no node's, or one of another Kubernetes, is refused before anything is made.
func TestWrongImage(t *testing.T) {
	for name, tt := range map[string]struct {
		change string
		want   string
	}{
		"of another Kubernetes": {"LABEL org.opencontainers.image.version=v1.30.1 com.github.vsphere-sandbox.kind-node=x", "v1.30.1"},
		"no node":               {"LABEL a=b", "no node image"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			wrong := "localhost/vsphere-sandbox-test/wrong:" + strings.ReplaceAll(name, " ", "-")
			if _, err := dockerWith(empty(t), "import", "--change", tt.change, "-", wrong); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if _, err := docker("rmi", wrong); err != nil {
					t.Error(err)
				}
			})
			h.refused(h.Try(refusedBoot("wrong", "--kind-image", wrong)...), 4, wrong, tt.want, "try: ")
		})
	}
	t.Run("none", func(t *testing.T) {
		h := newHome(t)
		h.refused(h.Try(refusedBoot("wrong", "--kind-image", "localhost/vsphere-sandbox-test/none:v1")...), 4, "vsphere-sandbox-test/none", "try: ")
	})
}

// empty is a tar with one file in it.
func empty(t *testing.T) *os.File {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "empty", Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "empty.tar"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	return f
}

// An existing cluster of that name with another owner is not touched.
func TestNameTaken(t *testing.T) {
	h := newHome(t)
	const container = "vsphere-sandbox-taken-control-plane"
	if _, err := docker("create", "--name", container, "--network", "none", "--label", "io.x-k8s.kind.cluster=vsphere-sandbox-taken",
		"--label", "io.x-k8s.kind.role=control-plane", "--entrypoint", "true", node); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := docker("rm", "--force", "--volumes", container); err != nil {
			t.Error(err)
		}
	})
	h.before = look(t, h.Dir) // it is there before
	r := h.Try(refusedBoot("taken", "--kind-image", node)...)
	h.refused(r, r.Code, "vsphere-sandbox-taken", "try: ")
	if r.Code == 0 {
		t.Error("booted all the same")
	}
	if _, err := docker("inspect", container); err != nil {
		t.Errorf("what was there is gone: %v", err)
	}
}

// A sandbox that is killed leaves its cluster; the next up of its name, or down, takes it away first.
func TestKilled(t *testing.T) {
	h := newHome(t)
	s := h.up("killed", "single")
	kill := func() {
		t.Helper()
		if err := syscall.Kill(s.Status().PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		deadline := time.Now().Add(20 * time.Second)
		for len(look(t, h.Dir)["process"]) > 0 {
			if time.Now().After(deadline) {
				t.Fatalf("still alive: %v", look(t, h.Dir)["process"])
			}
			time.Sleep(50 * time.Millisecond) // the death of another's process can't be waited for
		}
	}
	kill()
	if len(s.containers()) == 0 {
		t.Error("the containers of a killed sandbox are gone by themselves: nothing is shown")
	}
	s = h.up("killed", "single")
	s.await("all nodes are well", time.Minute, s.unwell)
	kill()
	h.Must("--name", "killed", "down")
	h.nothingLeft()
}

// Docker restarts under a running sandbox: it is reported, and down removes everything.
func TestDockerRestarts(t *testing.T) {
	able(t)
	if !engine.own() {
		t.Skip("the daemon is not ours to be restarted")
	}
	h := newHome(t)
	s := h.up("restart", "single")
	before := s.Last()
	if err := engine.stop(); err != nil {
		t.Fatal(err)
	}
	s.await("it is told that containers have ended, or Docker", time.Minute, func() string {
		for _, e := range s.Since(before, "") {
			if e.Kind == "node.container" || strings.Contains(e.Message, "docker") || strings.HasPrefix(e.Kind, "node.") {
				return ""
			}
		}
		return "no event says so"
	})
	if err := engine.start(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	s.await("every kubelet has said that it lives", 4*time.Minute, func() string { return s.silentSince(begin) })
	s.await("all nodes are well", 4*time.Minute, s.unwell)
	s.Run("down")
	h.nothingLeft()
}

// silentSince returns the kubelet that has not renewed its lease since then, "" if all have.
func (s *sandbox) silentSince(then time.Time) string {
	r := s.Within(30*time.Second, "--name", s.Name, "kubectl", "get", "leases", "-n", "kube-node-lease", "-o", "json")
	if r.Code != 0 {
		return r.Err
	}
	var leases coordinationv1.LeaseList
	if err := json.Unmarshal([]byte(r.Out), &leases); err != nil {
		return err.Error()
	}
	if len(leases.Items) == 0 {
		return "no leases"
	}
	for _, l := range leases.Items {
		if l.Spec.RenewTime == nil || l.Spec.RenewTime.Before(&metav1.MicroTime{Time: then}) {
			return l.Name + ": " + fmt.Sprint(l.Spec.RenewTime)
		}
	}
	return ""
}
