package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

const (
	// hook is the component of upstream's validating webhook.
	hook = "csi-webhook"

	migratedClass = `apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: migrated}
provisioner: csi.vsphere.vmware.com
parameters: {datastore-migrationparam: shared}
`
	pinnedShare = `apiVersion: v1
kind: PersistentVolume
metadata: {name: pinned}
spec:
  accessModes: [ReadWriteMany]
  capacity: {storage: 1Gi}
  csi: {driver: csi.vsphere.vmware.com, volumeHandle: "file:pinned"}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: Exists}]}]}}
`
	snapshotted = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: vsphere-immediate
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: first}
spec: {source: {persistentVolumeClaimName: data}}
`
)

// Upstream's validating webhook refuses requests in its words, also after it was killed. While it hangs, claims cannot be changed, and
// "csi status" says so. Another driver, a snapshot and the end of the sandbox leave no registration without a server. The driver listens
// on ports of the machine, so that nothing else may run it: "make csi-upstream" runs this test.
func TestUpstreamWebhook(t *testing.T) {
	released := os.Getenv("UPSTREAM_CSI")
	if released == "" {
		t.Skip("no release of the upstream driver: UPSTREAM_CSI names the folder of its programs (make csi-upstream builds them and sets it)")
	}
	h := newHome(t)
	h.place(filepath.Join(released, "vsphere-syncer"), "vsphere-syncer")
	h.place(filepath.Join(released, "vsphere-csi"), "vsphere-csi")
	driver := filepath.Join(h.Tmp, "vsphere-csi")
	s := h.up("webhook", "single", "--csi", driver, "--csi-webhook")
	refused := func(says string, args ...string) {
		t.Helper()
		want := `admission webhook "validation.csi.vsphere.vmware.com" denied the request: ` + says
		if r := s.Try(append([]string{"kubectl"}, args...)...); r.Code == 0 || !strings.Contains(r.Err, want) {
			t.Errorf("%q: exit status %d, said %s, want %s", args, r.Code, r.Both(), want)
		}
	}
	class := s.File("class.yaml", migratedClass)
	refusesClass := func() {
		t.Helper()
		refused("Invalid StorageClass Parameters. Migration specific parameters should not be used in the StorageClass", "create", "-f", class)
	}
	refusesClass()
	refused("Invalid configuration. File volumes cannot have node affinity rules", "create", "-f", s.File("pinned.yaml", pinnedShare))
	s.Run("kubectl", "apply", "-f", s.File("snapshotted.yaml", snapshotted))
	s.Run("kubectl", "wait", "--for=jsonpath={.status.readyToUse}=true", "volumesnapshot/first", "--timeout=60s")
	const grow = `{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`
	refused("Expanding volume with snapshots is not allowed", "patch", "pvc", "data", "--type=merge", "-p", grow)
	refused("Deleting volume with snapshots is not allowed", "delete", "pvc", "data", "--wait=false")
	s.Run("kubectl", "label", "pvc", "data", "team=a") // what it does not judge

	// It has the rights of upstream's manifest.
	const account = "system:serviceaccount:vmware-system-csi:vsphere-csi-webhook"
	for what, want := range map[string]string{"list volumesnapshots": "yes", "get persistentvolumes": "yes", "list persistentvolumes": "no", "list secrets": "no"} {
		verb, resource, _ := strings.Cut(what, " ")
		if got := strings.TrimSpace(s.Try("kubectl", "auth", "can-i", verb, resource, "--as", account).Out); got != want {
			t.Errorf("it can %s: %s, want %s", what, got, want)
		}
	}

	// It hangs: the API server refuses what it is to judge, and the sandbox says so.
	well := func() bool { c := s.Component(hook); return c.State == "running" && c.Health == "healthy" }
	s.Run("fault", "inject", "csi.paused", hook)
	s.Await("its health says that claims are refused", time.Minute, func() bool {
		return strings.Contains(s.Component(hook).Health, "new volumes and changes of claims are refused")
	})
	if r := s.Try("csi", "status"); r.Code != 3 || !strings.Contains(r.Err, "csi-webhook: does not answer within 2s: new volumes and changes of claims are refused") {
		t.Errorf("csi status: exit status %d, said %s", r.Code, r.Both())
	}
	if out := s.Run("explain", "volume", "data"); !strings.Contains(out, "csi-webhook is suspended, does not answer within 2s") {
		t.Errorf("explain volume:\n%s", out)
	}
	if r := s.Try("kubectl", "label", "pvc", "data", "team=b", "--overwrite"); r.Code == 0 || !strings.Contains(r.Err, "failed calling webhook") {
		t.Errorf("a claim was changed: exit status %d, said %s", r.Code, r.Both())
	}
	s.Run("fault", "heal", "--all")
	s.Await("it is well again", time.Minute, well)
	s.Run("kubectl", "label", "pvc", "data", "team=b", "--overwrite")

	// It is killed, and started again.
	before := s.Component(hook)
	s.Run("fault", "inject", "csi.killed", hook)
	s.Await("another process is healthy", time.Minute, func() bool { return well() && s.Component(hook).PID != before.PID })
	refusesClass()

	// The registration goes with the webhook, and comes with it.
	s.Run("snapshot", "save", "with")
	s.Run("csi", "swap", "builtin")
	s.notRegistered("after a swap")
	s.Run("kubectl", "create", "-f", class)
	s.Run("kubectl", "delete", "-f", class)
	s.Run("csi", "swap", driver, "--webhook")
	refusesClass()
	s.Run("csi", "swap", driver)
	s.notRegistered("after a swap to a driver without it")
	s.Run("csi", "swap", driver, "--webhook")
	s.Run("csi", "restart")
	refusesClass()
	s.Run("snapshot", "restore", "with")
	refusesClass()
	s.Run("stop")
	s.Run("start")
	s.Await("it is well after a start", time.Minute, well)
	refusesClass()
	if v := s.awaitVolume("data", api.VolumeDetached, bound); v.Handle == "" {
		t.Errorf("%+v", v)
	}
	refused("Deleting volume with snapshots is not allowed", "delete", "pvc", "data", "--wait=false")
	s.Run("snapshot", "save", "again")
	s.Run("down", "--keep-snapshots")

	// A snapshot of a sandbox with a webhook boots without one.
	s = h.up("without", "--from", "webhook/again", "--csi", "builtin", "--csi-webhook=false")
	s.notRegistered("from a snapshot with it")
	s.Run("kubectl", "create", "-f", class)
}

// notRegistered fails the test if a webhook is registered.
func (s *sandbox) notRegistered(when string) {
	s.T.Helper()
	if out := strings.TrimSpace(s.Run("kubectl", "get", "validatingwebhookconfigurations", "-o", "name")); out != "" {
		s.T.Errorf("%s: %s", when, out)
	}
}
