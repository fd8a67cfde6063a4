package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// driver builds cmd/vsphere-csi with a changed line: what it says first in its log.
func (h *home) driver(name, says string) string {
	h.T.Helper()
	root, err := program.Root()
	if err != nil {
		h.T.Fatal(err)
	}
	changed := filepath.Join(root, "pkg", "csi", "run.go")
	text, err := os.ReadFile(changed)
	if err != nil {
		h.T.Fatal(err)
	}
	const line = `log.Info("starting", "mode"`
	if strings.Count(string(text), line) != 1 {
		h.T.Fatalf("%s has not one line with %s", changed, line)
	}
	instead := h.File("run.go", strings.Replace(string(text), line, `log.Info("`+says+`", "mode"`, 1))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {changed: instead}})
	if err != nil {
		h.T.Fatal(err)
	}
	path := filepath.Join(h.Tmp, name+".build")
	build := exec.Command("go", "build", "-buildvcs=false", "-overlay", h.File("overlay.json", string(overlay)), "-o", path, "./cmd/vsphere-csi")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		h.T.Fatalf("%v: %s", err, out)
	}
	if err := os.Chmod(path, 0o755); err != nil {
		h.T.Fatal(err)
	}
	h.T.Cleanup(func() { _ = os.Remove(path) })
	return path
}

func (s *sandbox) csi() api.CSI {
	s.T.Helper()
	c, err := s.Client.CSI(s.T.Context())
	if err != nil {
		s.T.Fatal(err)
	}
	return c
}

// A driver that is built again runs within ten seconds, its node services too, and pods keep their volumes; one that is no good gives
// way to the one before it.
func TestWatchCSI(t *testing.T) {
	t.Parallel()
	long(t)
	h := newHome(t)
	path := filepath.Join(h.Tmp, "vsphere-csi")
	place := func(built string) {
		t.Helper()
		if err := os.Rename(built, path); err != nil {
			t.Fatal(err)
		}
	}
	place(h.driver("one", "starting one"))
	t.Cleanup(func() { _ = os.Remove(path) })
	s := h.up("csiwatch", "zones-us-eu", "--csi", "builtin", "--csi-watch", path)
	if c := s.csi(); c.Node.Source != path || c.Node.Why != "" || len(c.Node.Waiting) > 0 {
		t.Errorf("booted with %+v", c)
	}
	s.Run("kubectl", "apply", "-f", s.shipped("tutorials/volumes/statefulset.yaml"))
	v := s.awaitVolume("data-web-0", api.VolumeInUse, bound)

	two := h.driver("two", "starting two")
	was, seq, built := s.Component("csi-controller"), s.Last(), time.Now()
	place(two)
	s.checkCauses(s.awaitEvent(seq, time.Minute, "csi.swapped", about("csi-controller")), "csi.swapped", "csi.swap", "csi.rebuilt")
	t.Logf("the new build runs %s after it was there", time.Since(built).Round(10*time.Millisecond))
	if took := time.Since(built); took > 10*time.Second {
		t.Errorf("that took %s", took)
	}
	now := s.Component("csi-controller")
	if now.Digest == was.Digest || now.PID == was.PID || now.Source != path || now.Health != "healthy" {
		t.Errorf("before %+v, after %+v", was, now)
	}
	if log := s.Run("csi", "logs"); !strings.Contains(log, "starting two") {
		t.Errorf("the log has no changed line:\n%s", log)
	}
	s.Await("its node service runs on the node", time.Minute, func() bool {
		return strings.Contains(s.Run("logs", "node/"+v.Node), "starting two") && len(s.csi().Node.Waiting) == 0
	})
	if after := s.volumes()["data-web-0"]; after.State != api.VolumeInUse || after.Node != v.Node {
		t.Errorf("before %+v, after %+v", v, after)
	}
	s.Run("kubectl", "delete", "pod", "web-0", "--wait=false") // the new node service unmounts what the old one mounted
	s.Await("the pod is back", bound, func() bool {
		after := s.volumes()["data-web-0"]
		return after.State == api.VolumeInUse && len(after.Pods) > 0
	})

	seq = s.Last()
	place(h.program("dies", "echo no such luck >&2; exit 3"))
	s.gaveWay("csi", "csi-controller", now, seq)
}

// A driver of another project has the environment and the rights of upstream's manifests, and the built-in node service beside it.
func TestSwapCSI(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	// Our driver, as another project's: without flags. It needs a right that upstream's does not.
	theirs := h.program("theirs", "exec "+binary+` csi-controller --kubeconfig="$KUBECONFIG" --full-sync-period=0`)
	dies := h.program("dies", "echo no such luck >&2; exit 3")
	s := h.up("csiswap", "zones-us-eu", "--csi", "builtin")
	before := s.Component("csi-controller")
	if r := h.Try("--name", s.Name, "csi", "swap", theirs, "--manifest", h.File("rights.yaml", foreignManifest)); r.Code != 0 {
		t.Fatal(r.Both())
	}
	status := h.Try("--name", s.Name, "csi", "status")
	if status.Code != 0 || !strings.Contains(status.Err, "hollow nodes have the built-in one beside it") {
		t.Errorf("exit status %d, said %s", status.Code, status.Both())
	}
	if c := s.csi(); c.Node.Source != "builtin" || s.Component("csi-controller").Source != theirs {
		t.Errorf("%+v", c)
	}
	can := h.Try("--name", s.Name, "kubectl", "auth", "can-i", "list", "secrets", "--as", "system:serviceaccount:vmware-system-csi:vsphere-csi-foreign")
	if strings.TrimSpace(can.Out) != "no" {
		t.Errorf("it may list secrets: %s", can.Both())
	}
	s.Run("kubectl", "apply", "-f", s.shipped("tutorials/volumes/statefulset.yaml"))
	s.awaitVolume("data-web-0", api.VolumeInUse, bound)

	if r := h.Try("--name", s.Name, "csi", "swap", dies); r.Code != 1 || !strings.Contains(r.Err, "exit status 3: no such luck; "+theirs+" runs again") {
		t.Errorf("exit status %d, said %s", r.Code, r.Both())
	}
	s.Run("csi", "swap", "builtin")
	s.Run("csi", "restart")
	s.Run("csi", "status")
	if c := s.Component("csi-controller"); c.Source != before.Source || c.Health != "healthy" {
		t.Errorf("%+v", c)
	}
	if roles := s.Run("kubectl", "get", "clusterroles", "-o", "name"); strings.Contains(roles, "vsphere-csi-foreign") {
		t.Errorf("the rights of a driver that is gone are left:\n%s", roles)
	}
}

// foreignManifest grants what our driver needs, under the names of another project.
const foreignManifest = `
kind: ClusterRole
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: theirs}
rules:
- {apiGroups: [""], resources: [nodes, namespaces, persistentvolumes, persistentvolumeclaims, pods], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [events], verbs: [create, patch]}
- {apiGroups: [cns.vmware.com], resources: [csinodetopologies, csinodetopologies/status], verbs: [get, list, watch, update, patch]}
- {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [get]}
---
kind: ClusterRoleBinding
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: theirs}
subjects: [{kind: ServiceAccount, name: theirs, namespace: theirs}]
roleRef: {kind: ClusterRole, name: theirs, apiGroup: rbac.authorization.k8s.io}
---
kind: Deployment
apiVersion: apps/v1
metadata: {name: theirs, namespace: theirs}
spec: {template: {spec: {serviceAccountName: theirs, containers: [{name: vsphere-csi-controller}]}}}
`

// Anything that is named as a CSI driver and is none: a clear message, the right exit status, nothing left.
func TestBadCSIs(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	plain := h.File("plain", "text")
	dies := h.program("dies", "echo no such luck >&2; exit 3")
	h.refuses([]refusal{
		{"--csi " + dies, 1, "csi-controller: exit status 3: no such luck"},
		{"--csi " + plain, 2, "CSI driver " + plain + ": is not executable"},
		{"--csi " + filepath.Join(h.Tmp, "none"), 2, "there is no such file"},
		{"--csi oci:x", 2, `there is no source "oci:"`},
		{"--csi archive:" + plain, 2, "is no tar of an image"},
		{"--csi image:127.0.0.1:1/some/driver:v1", 4, "connection refused by 127.0.0.1:1"},
		{"--csi module:latest", 2, "is no version"},
		{"--csi-arg v=4", 2, "take flags alone"},
		{"--csi-config " + filepath.Join(h.Tmp, "none"), 2, "--csi-config"},
		{"--csi off --csi-env A=1", 2, "there is no driver"},
		{"--cluster kind --csi " + dies, 2, "is an image or a release"},
	})
}

// A scenario about volumes judges the driver that is named.
func TestScenarioJudgesCSI(t *testing.T) {
	t.Parallel()
	long(t)
	h := newHome(t)
	path := h.driver("judged", "starting judged")
	dir := h.artifacts("judged")
	r := h.Try("scenario", "run", "storage/statefulset-zones", "--csi", path, "--artifacts", dir)
	if r.Code != 0 {
		t.Fatal(r.Both())
	}
	found, err := exec.Command("grep", "-rl", "starting judged", dir).Output()
	if err != nil {
		t.Errorf("no log of the driver has its line: %v, %s\n%s", err, found, r.Both())
	}
}
