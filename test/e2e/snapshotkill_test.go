package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// killed kills the sandbox, and waits until none of its processes is left.
func (s *sandbox) killed() {
	s.T.Helper()
	pid := s.Status().PID
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		s.T.Fatal(err)
	}
	s.awaitNoProcesses()
}

// A sandbox that is killed while it saves a snapshot leaves that one complete or not at all; one that is killed while it restores
// a snapshot leaves that one intact. In both cases "start" says what there is to start from, and starts from it.
func TestKillWithSnapshots(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	s := h.up("victim", append(ownPort(), "single")...)
	s.Run("kubectl", "create", "configmap", "kept")
	s.Run("snapshot", "save", "base")
	was := s.identities()
	folder := filepath.Join(h.State, ".snapshots", "victim")
	again := func(what string) {
		t.Helper()
		r := h.Try("--name", "victim", "start")
		r.Wants(t, 2, "crashed or was killed", "vsphere-sandbox start --name victim --snapshot")
		h.Must("--name", "victim", "start", "--snapshot", "base")
		s = h.attach("victim")
		if now := s.identities(); now != was {
			t.Errorf("%s: before:\n%s\nstarted:\n%s", what, was, now)
		}
		if got := s.Run("kubectl", "get", "configmaps", "--no-headers", "-o", "name"); !strings.Contains(got, "kept") || strings.Contains(got, "later") {
			t.Errorf("%s: %s", what, got)
		}
	}

	for range short(1, 4) {
		c := h.Cmd("--name", "victim", "snapshot", "save", "next", "--force")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(bound); ; time.Sleep(time.Millisecond) { // a folder must be polled
			if unfinished, err := filepath.Glob(filepath.Join(folder, ".new-*")); err == nil && len(unfinished) > 0 {
				break
			} else if time.Now().After(deadline) {
				t.Fatal("no snapshot is being saved")
			}
		}
		after := time.Duration(rand.Int64N(int64(100 * time.Millisecond)))
		time.Sleep(after) // a random moment is the point
		s.killed()
		_ = c.Wait()
		out := h.Must("--name", "victim", "snapshot", "list")
		t.Logf("killed %s after a save had begun: \n%s", after, out)
		if !strings.Contains(out, "base") || strings.Contains(out, ".new-") {
			t.Errorf("snapshots of a sandbox that was killed:\n%s", out)
		}
		if strings.Contains(out, "next") {
			h.Must("--name", "victim", "start", "--snapshot", "next") // it is complete
			h.attach("victim").killed()
		}
		again("killed while it saved")
	}
	s.Run("snapshot", "save", "later", "--force") // what was left half is no obstacle
	if left, _ := filepath.Glob(filepath.Join(folder, ".new-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	s.Run("snapshot", "delete", "later")

	for range short(1, 4) {
		s.Run("kubectl", "create", "configmap", "later")
		c := h.Cmd("--name", "victim", "snapshot", "restore", "base")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		s.Await("a restore has begun", bound, func() bool { return len(s.Since(0, "command.snapshot-restore")) > 0 })
		after := time.Duration(rand.Int64N(int64(time.Second)))
		time.Sleep(after) // a random moment is the point
		s.killed()
		_ = c.Wait()
		t.Logf("killed %s after a restore had begun", after)
		again("killed while it restored")
	}

	s.killed()
	h.Must("--name", "copy", "up", "--detach", "--from", "victim/base", "--csi", "off")
	if got := h.attach("copy").Run("kubectl", "get", "configmap", "kept", "-o", "name"); strings.TrimSpace(got) != "configmap/kept" {
		t.Errorf("the copy has %q", got)
	}
	h.Must("--name", "copy", "down")
	h.Must("--name", "victim", "down")
	if left, err := os.ReadDir(filepath.Join(h.State, ".snapshots")); err == nil && len(left) > 0 {
		t.Errorf("left of the snapshots: %v", left)
	}
}

// loaded is a StatefulSet that counts on its volume.
const loaded = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: load}
spec:
  serviceName: load
  podManagementPolicy: Parallel
  replicas: 2
  selector: {matchLabels: {app: load}}
  template:
    metadata: {labels: {app: load}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: load
        image: busybox
        command: [sh, -c, "me=$(date +%s%N); i=$(wc -l < /data/log || echo 0); while true; do echo $i $me >> /data/log; i=$((i+1)); sleep 0.01; done"]
        volumeMounts: [{name: data, mountPath: /data}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

// A snapshot that is saved while pods write, volumes are attached and detached and objects are created fits together: what continues
// from it finds its volumes, and data without gaps.
func TestSaveUnderLoad(t *testing.T) {
	t.Parallel()
	long(t)
	h := newHome(t)
	s := h.up("load", "single", "--csi", "builtin")
	s.Run("kubectl", "apply", "-f", h.File("load.yaml", loaded))
	s.Run("kubectl", "rollout", "status", "statefulset/load", "--timeout=90s")
	for round := range 3 {
		other := h.Cmd("--name", "load", "kubectl", "scale", "statefulset", "load", fmt.Sprint("--replicas=", 3-round)) // attaches, detaches
		objects := h.Cmd("--name", "load", "kubectl", "create", "deployment", fmt.Sprint("many-", round), "--image=registry.invalid/app", "--replicas=10")
		for _, c := range []interface{ Start() error }{other, objects} {
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Duration(rand.Int64N(int64(time.Second)))) // a random moment is the point
		s.Run("snapshot", "save", fmt.Sprint("load-", round))
		_, _ = other.Process.Wait()
		_, _ = objects.Process.Wait()
	}
	for round := range 3 {
		s.Run("snapshot", "restore", fmt.Sprint("load-", round))
		s.Run("kubectl", "scale", "statefulset", "load", "--replicas=3")
		for pod := range 3 {
			name := fmt.Sprint("load-", pod)
			s.Await(name+" counts on", 2*time.Minute, func() bool {
				r := s.Try("--name", "load", "kubectl", "exec", name, "--", "sh", "-c", "tail -n 1 /data/log")
				return r.Code == 0 && r.Out != "" && !strings.HasPrefix(r.Out, "0 ")
			})
			out := s.Run("kubectl", "exec", name, "--", "cat", "/data/log")
			lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
			for i, line := range lines {
				if n, _, ok := strings.Cut(line, " "); !ok || n != fmt.Sprint(i) {
					t.Errorf("round %d, %s: line %d is %q, after %q", round, name, i, line, lines[max(0, i-3):i])
					break
				}
			}
		}
	}
}
