package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// restoreTime is how long a restore of the default topology may take: two seconds on a quiet machine, more beside other tests.
const restoreTime = 15 * time.Second

// identities are the Nodes with their UIDs and providerIDs, and the volumes with theirs.
func (s *sandbox) identities() string {
	s.T.Helper()
	return s.Run("kubectl", "get", "nodes", "-o", "custom-columns=N:.metadata.name,U:.metadata.uid,P:.spec.providerID") +
		s.Run("kubectl", "get", "pv,pvc", "-o", "custom-columns=N:.metadata.name,U:.metadata.uid,H:.spec.csi.volumeHandle")
}

// greeting is the file in the volume of a claim, which a pod must have mounted.
func (s *sandbox) greeting(claim string) string {
	s.T.Helper()
	return filepath.Join(strings.TrimSpace(s.Run("volume", "path", claim)), "greeting")
}

// awaitGreeting waits until a pod has mounted the volume of a claim, and compares what is in it.
func (s *sandbox) awaitGreeting(claim, want string) {
	s.T.Helper()
	s.Await("a pod has the volume of "+claim, bound, func() bool {
		return (&home{s.Home}).Try("--name", s.Name, "volume", "path", claim).Code == 0
	})
	if text, err := os.ReadFile(s.greeting(claim)); string(text) != want {
		s.T.Errorf("data of %s: %q, %v", claim, text, err)
	}
}

// backAgain destroys two VMs and the content of a volume, and restores a snapshot.
func backAgain(s *sandbox) {
	t, claim := s.T, "data-web-0"
	v := s.awaitVolume(claim, api.VolumeInUse, bound)
	greeting := s.greeting(claim)
	if err := os.WriteFile(greeting, []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.Run("snapshot", "save", "before")
	was := s.identities()

	if err := os.Remove(greeting); err != nil {
		t.Fatal(err)
	}
	s.Run("vm", "destroy", "--yes", v.VM)
	other := "worker-eu-1"
	if v.VM == other {
		other = "worker-eu-2"
	}
	s.Run("vm", "destroy", "--yes", other)
	s.Run("kubectl", "delete", "statefulset", "web", "--wait=false")
	s.Run("kubectl", "create", "configmap", "later")

	begun := time.Now()
	s.Run("snapshot", "restore", "before")
	took := time.Since(begun)
	t.Logf("restored in %s", took)
	if took > restoreTime {
		t.Errorf("the restore took %s", took)
	}
	if now := s.identities(); now != was {
		t.Errorf("before:\n%s\nrestored:\n%s", was, now)
	}
	if out := s.Run("kubectl", "get", "configmap", "later", "--ignore-not-found"); strings.TrimSpace(out) != "" {
		t.Errorf("a ConfigMap that is newer than the snapshot: %s", out)
	}
	again := s.awaitVolume(claim, api.VolumeInUse, bound)
	if again.Handle != v.Handle || again.VM != v.VM {
		t.Errorf("volume %+v, was %+v", again, v)
	}
	s.awaitGreeting(claim, "hello")
	for _, name := range []string{v.Node, other} {
		s.Await(name+" is well", bound, func() bool { return well(s.Node(name)) })
	}
	stopAndStart(s, was)
}

// stopAndStart stops the sandbox and starts it again.
func stopAndStart(s *sandbox, was string) {
	t := s.T
	server := strings.TrimSpace(s.Run("kubectl", "config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}"))
	s.Run("stop")
	if out := s.Run("list"); !strings.Contains(out, "stopped") {
		t.Errorf("a stopped sandbox is listed as\n%s", out)
	}
	s.Run("start")
	if now := s.identities(); now != was {
		t.Errorf("before:\n%s\nstarted:\n%s", was, now)
	}
	if now := strings.TrimSpace(s.Run("kubectl", "config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}")); now != server {
		t.Errorf("API server %s, was %s", now, server)
	}
	s.awaitVolume("data-web-0", api.VolumeInUse, bound)
	s.awaitGreeting("data-web-0", "hello")
	if lost := s.Run("events", "--kind", "claim.lost"); strings.Contains(lost, "claim.lost") {
		t.Errorf("claims were seen without their volumes:\n%s", lost)
	}
	if log := s.Run("logs", "control-plane"); strings.Contains(log, "does not match claim") {
		t.Error("a component has a token of a ServiceAccount that is not there")
	}
}
