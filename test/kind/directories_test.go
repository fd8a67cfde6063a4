package kind

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// pair is two workers in the zone that [writer] wants.
const pair = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: pair}
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          region: us
          zone: us-east
          clusters: [{name: compute, hosts: [{name: "esx-{n}", replicas: 2}]}]
          vms: [{name: "worker-{n}", replicas: 2, role: worker}]
`

// containerUID is the user of many database images.
const containerUID = 999

// Without loop devices, as for a user who may use Docker and is not root, volumes are directories: a pod's data still
// follows it to another node, is copied by snapshots, and is removed with the sandbox, independent of the user that has
// written it.
func TestDirectories(t *testing.T) {
	h := newHome(t)
	var more []string
	if !h.asUser() {
		more = []string{"--kind-volumes", "dir"}
	} else {
		h.refused(h.Try("--name", "folders", "up", "--detach", "single", "--cluster", "kind", "--kind-image", node, "--kind-volumes", "device"), 4,
			"volumes cannot be block devices", "permission denied", "try: --kind-volumes dir", "--csi off")
	}
	begin := time.Now()
	s := h.up("folders", append([]string{h.File("pair.yaml", pair)}, more...)...)
	took(t, "two workers are up", begin)
	if said := s.Since(0, "volumes.directories"); len(said) != 1 {
		t.Errorf("said %+v, want once that volumes are directories", said)
	}
	s.give(scribe)
	s.Run("kubectl", "apply", "-f", s.File("book.yaml", writer("book", "")))
	s.await("the pod has the volume", 2*time.Minute, func() string { return s.inUse("book", "") })
	first := s.volume("book")
	s.await("it has written", time.Minute, func() string { return s.read("book", first.Node, "written on "+first.Node) })

	content := strings.TrimSpace(s.Run("volume", "path", "book"))
	if text, err := os.ReadFile(filepath.Join(content, "book")); err != nil || !strings.Contains(string(text), "written on "+first.Node) {
		t.Errorf("volume path: %q, %v", text, err)
	}
	// As a database does that keeps its files to itself.
	shelf := filepath.Join(s.mount(first), "shelf")
	if _, err := docker("exec", s.container(first.Node), "sh", "-c", "mkdir -m 700 "+shelf+" && echo own >"+shelf+"/file && chown -R 999:999 "+shelf); err != nil {
		t.Fatal(err)
	}
	s.checkCopied(first)
	if left := s.contents(content); len(left) != 1 {
		t.Errorf("of the snapshot and the volume made of it are left: %v", left)
	}

	begin = time.Now()
	s.Run("vm", "power-off", first.VM)
	s.await("the volume is held by a node that is off", 3*time.Minute, func() string {
		if v := s.volume("book"); v.State != api.VolumeBlocked {
			return string(v.State) + " " + v.Waits
		}
		return ""
	})
	s.Run("taint", "out-of-service", first.Node)
	second := s.elsewhere(first, 3*time.Minute, "written on "+first.Node)
	took(t, "from the loss of power to the data elsewhere", begin)
	if info, err := os.Stat(filepath.Join(content, "shelf", "file")); err != nil || info.Sys().(*syscall.Stat_t).Uid != containerUID {
		t.Errorf("%v %v", info, err)
	}
	for node, want := range map[string]bool{first.Node: false, second.Node: true} {
		links, err := os.ReadDir(filepath.Join(h.State, "folders", "nodes", node, "by-id"))
		if err != nil || len(links) > 0 != want {
			t.Errorf("node %s has disks %v, %v; want any %t", node, links, err, want)
		}
	}
	s.Run("down")
	h.nothingLeft()
}

// asUser runs the program as a user who may use Docker and is not root; it returns false if there is no such user.
func (h *home) asUser() bool {
	h.T.Helper()
	unprivileged, err := program.Unprivileged()
	if err != nil {
		h.T.Fatal(err)
	}
	if unprivileged == nil || !engine.own() {
		return false
	}
	for _, path := range []string{h.Dir, h.State, h.Tmp} {
		if err := os.Chown(path, int(unprivileged.Uid), int(unprivileged.Gid)); err != nil {
			h.T.Fatal(err)
		}
	}
	// As for the group docker; the daemon is a test's, which ends it.
	for path, mode := range map[string]os.FileMode{engine.dir: 0o711, strings.TrimPrefix(engine.host(), "unix://"): 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			h.T.Fatal(err)
		}
	}
	if h.Binary, err = program.Copy(h.Dir, binary); err != nil {
		h.T.Fatal(err)
	}
	h.As = unprivileged
	h.Env = append(h.Env, "XDG_CACHE_HOME="+filepath.Join(h.Tmp, ".cache"), "XDG_CONFIG_HOME="+h.Tmp)
	return true
}

// mount is where the node of a volume has it mounted for its pod.
func (s *sandbox) mount(v api.Volume) string {
	s.T.Helper()
	out, err := docker("exec", s.container(v.Node), "sh", "-c", "echo /var/lib/kubelet/pods/*/volumes/kubernetes.io~csi/"+v.Name+"/mount")
	if err != nil {
		s.T.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// contents are the directories beside the one of a volume whose content is there, and that itself.
func (s *sandbox) contents(content string) []string {
	s.T.Helper()
	entries, err := os.ReadDir(filepath.Dir(filepath.Dir(content)))
	if err != nil {
		s.T.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
