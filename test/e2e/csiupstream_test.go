package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// A line of upstream's driver is changed: the new build runs within ten seconds, its log has the line, pods keep their volumes, and a
// scenario judges it. It listens on ports of the machine, so that nothing else may run it: "make csi-upstream" runs this test.
func TestWatchUpstreamCSI(t *testing.T) {
	released := os.Getenv("UPSTREAM_CSI")
	if released == "" {
		t.Skip("no release of the upstream driver: UPSTREAM_CSI names the folder of its programs (make csi-upstream builds them and sets it)")
	}
	h := newHome(t)
	path := filepath.Join(h.Tmp, "vsphere-csi")
	changed := changedUpstream(t, filepath.Base(filepath.Dir(released)))
	h.place(filepath.Join(released, "vsphere-syncer"), "vsphere-syncer")
	h.place(filepath.Join(released, "vsphere-csi"), "vsphere-csi")
	s := h.up("csiupstream", "zones-us-eu", "--csi", path, "--csi-watch", path)
	s.Run("kubectl", "apply", "-f", s.shipped("tutorials/volumes/statefulset.yaml"))
	v := s.awaitVolume("data-web-0", api.VolumeInUse, 2*bound)

	was, seq, built := s.Component("csi-controller"), s.Last(), time.Now()
	h.place(changed, "vsphere-csi")
	s.checkCauses(s.awaitEvent(seq, time.Minute, "csi.swapped", about("csi-controller")), "csi.swapped", "csi.swap", "csi.rebuilt")
	t.Logf("the new build runs %s after it was there", time.Since(built).Round(10*time.Millisecond))
	if took := time.Since(built); took > 10*time.Second {
		t.Errorf("that took %s", took)
	}
	if now := s.Component("csi-controller"); now.Digest == was.Digest || now.Source != path || now.Health != "healthy" {
		t.Errorf("before %+v, after %+v", was, now)
	}
	if log := s.Run("csi", "logs"); !strings.Contains(log, upstreamLine) {
		t.Errorf("the log has no changed line:\n%s", log)
	}
	if after := s.volumes()["data-web-0"]; after.State != api.VolumeInUse || after.Node != v.Node {
		t.Errorf("before %+v, after %+v", v, after)
	}
	featureStates(s)
	s.Run("down")

	dir := h.artifacts("judged")
	if r := h.Try("scenario", "run", "storage/statefulset-zones", "--csi", path, "--artifacts", dir); r.Code != 0 {
		t.Fatal(r.Both())
	}
	if found, err := exec.Command("grep", "-rl", upstreamLine, dir).Output(); err != nil {
		t.Errorf("no log of the driver has its line: %v, %s", err, found)
	}
}

// place copies a program into the folder of the test, under a name that is there at once with all of it.
func (h *home) place(built, name string) {
	h.T.Helper()
	next, path := filepath.Join(h.Tmp, "next"), filepath.Join(h.Tmp, name)
	text, err := os.ReadFile(built)
	if err == nil {
		err = os.WriteFile(next, text, 0o755)
	}
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		h.T.Fatal(err)
	}
	h.T.Cleanup(func() { _ = os.Remove(path) })
}

// featureStates changes a feature state of the driver, as an administrator does: the driver notices, "csi status" shows it, and a restart
// leaves it as it is.
func featureStates(s *sandbox) {
	s.T.Helper()
	const name, feature = "internal-feature-states.csi.vsphere.vmware.com", "trigger-csi-fullsync"
	shown := func(want string) func() bool {
		return func() bool {
			all, err := s.Client.CSI(s.T.Context())
			if err != nil {
				s.T.Fatal(err)
			}
			return slices.ContainsFunc(all.Programs, func(p api.CSIProgram) bool {
				return p.Part == "controller" && len(p.Features) == 1 && p.Features[0].States[feature] == want
			})
		}
	}
	s.Await("the state of the manifest", time.Minute, shown("false"))
	s.Run("kubectl", "patch", "configmap", "-n", "vmware-system-csi", name, "--type=merge", "-p", `{"data":{"`+feature+`":"true"}}`)
	s.Await("the changed state", time.Minute, shown("true"))
	s.Await("the driver has noticed", time.Minute, func() bool {
		return strings.Contains(s.Run("csi", "logs"), "Internal feature state values from \\\""+name+"\\\" stored successfully")
	})
	s.Run("csi", "restart")
	s.Await("the changed state after a restart", time.Minute, shown("true"))
	if status := s.Try("csi", "status").Both(); !strings.Contains(status, feature+"=true") {
		s.T.Errorf("csi status has no feature state:\n%s", status)
	}
}

// upstreamLine is what a changed driver says when it starts.
const upstreamLine = "One line is changed"

// changedUpstream builds a release of upstream's driver with one changed line.
func changedUpstream(t *testing.T, version string) string {
	t.Helper()
	tools := upstream.Toolchain{}
	source, err := tools.Dir(t.Context(), upstream.Module{Path: "sigs.k8s.io/vsphere-csi-driver/v3", Version: version})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "source")
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	main := filepath.Join(dir, "cmd", "vsphere-csi", "main.go")
	text, err := os.ReadFile(main)
	if err != nil {
		t.Fatal(err)
	}
	const line = `log.Infof("Version : %s"`
	if strings.Count(string(text), line) != 1 {
		t.Fatalf("%s has not one line with %s", main, line)
	}
	if err := os.WriteFile(main, []byte(strings.Replace(string(text), line, `log.Infof("`+upstreamLine+`: %s"`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	built := upstream.Program{Package: "./cmd/vsphere-csi", Path: filepath.Join(dir, "built")}
	if err := tools.BuildFolder(t.Context(), dir, built); err != nil {
		t.Fatal(err)
	}
	return built.Path
}
