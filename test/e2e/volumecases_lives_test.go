package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

const claimAndPod = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: CLAIM, namespace: NAMESPACE}
spec: {accessModes: [ReadWriteOnce], storageClassName: vsphere, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: POD, namespace: NAMESPACE}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: app, image: "registry.k8s.io/pause:3.10", volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: CLAIM}}]
`

// withPod creates a claim and a pod that uses it.
func (s *sandbox) withPod(namespace, claim, pod string) {
	s.T.Helper()
	s.Run("kubectl", "apply", "-f", s.File(pod+".yaml", strings.NewReplacer("NAMESPACE", namespace, "CLAIM", claim, "POD", pod).Replace(claimAndPod)))
}

// twoNames: two PersistentVolumes name one disk, each has a claim and a pod on the same node. Kubernetes attaches it once, and the
// rows of both say where it is.
func twoNames(s *sandbox) {
	first := s.volumes()["other-size"]
	s.Run("kubectl", "apply", "-f", s.File("twin.yaml", strings.NewReplacer("HANDLE", first.Handle, "NODE", first.Node).Replace(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: twin}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: ""
  claimRef: {namespace: default, name: twin}
  csi: {driver: csi.vsphere.vmware.com, fsType: ext4, volumeHandle: HANDLE}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: twin}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", volumeName: twin, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: twin}
spec:
  nodeSelector: {kubernetes.io/hostname: NODE}
  containers: [{name: app, image: "registry.k8s.io/pause:3.10", volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: twin}}]
`)))
	s.Run("kubectl", "wait", "pod/twin", "--for=condition=Ready", "--timeout=60s")
	v := s.awaitVolume("twin", api.VolumeInUse, time.Minute)
	if v.Node != first.Node || v.Waits != "" || !slices.Equal(v.Pods, []string{"default/other-size", "default/twin"}) {
		s.T.Errorf("%+v", v)
	}
}

// deletedFromTheEnd: the PersistentVolume is deleted first, then the claim, then the pod. Nothing is left.
func deletedFromTheEnd(s *sandbox) {
	s.withPod("default", "from-the-end", "from-the-end")
	v := s.awaitVolume("from-the-end", api.VolumeInUse, time.Minute)
	for _, object := range []string{"pv/" + v.Name, "pvc/from-the-end", "pod/from-the-end"} {
		s.Run("kubectl", "delete", object, "--wait=false")
	}
	s.Run("kubectl", "wait", "--for=delete", "pv/"+v.Name, "pvc/from-the-end", "pod/from-the-end", "--timeout=90s")
	s.Await("CNS does not have the volume", time.Minute, func() bool {
		return !strings.Contains(s.Run("govc", "--vcenter", v.VCenter, "volume.ls", "-json"), v.Handle)
	})
}

// longNames: the longest names that Kubernetes takes are no trouble for CNS, and go with their namespace.
func longNames(s *sandbox) {
	namespace, claim := "n"+strings.Repeat("-long", 12), "c"+strings.Repeat("laim", 63)
	s.Run("kubectl", "create", "namespace", namespace)
	s.withPod(namespace, claim, "app")
	v := s.awaitVolume(namespace+"/"+claim, api.VolumeInUse, time.Minute)
	s.Await("CNS knows the claim", time.Minute, func() bool {
		record := s.record(v.VCenter, v.Handle)
		return strings.Contains(record, `"`+claim+`"`) && strings.Contains(record, `"`+namespace+`"`)
	})
	s.Run("kubectl", "delete", "namespace", namespace, "--timeout=90s")
	s.Await("the volume is gone", time.Minute, func() bool { _, is := s.volumes()[namespace+"/"+claim]; return !is })
}

// snapshotsByHandle: a VolumeSnapshotContent names a snapshot of CNS, or one that does not exist, and claims are made from it.
func snapshotsByHandle(s *sandbox) {
	s.Run("kubectl", "apply", "-f", s.File("source.yaml", `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: photos}
spec: {accessModes: [ReadWriteOnce], storageClassName: vsphere-immediate, resources: {requests: {storage: 1Gi}}}
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: photo}
spec: {volumeSnapshotClassName: vsphere, source: {persistentVolumeClaimName: photos}}
`))
	s.Run("kubectl", "wait", "volumesnapshot/photo", "--for=jsonpath={.status.readyToUse}=true", "--timeout=60s")
	content := s.Run("kubectl", "get", "volumesnapshot", "photo", "-o", "jsonpath={.status.boundVolumeSnapshotContentName}")
	handle := s.Run("kubectl", "get", "volumesnapshotcontent", content, "-o", "jsonpath={.status.snapshotHandle}")
	s.judge(strings.NewReplacer("SNAPSHOT", handle), "snapshots.yaml")
	s.Await("the missing snapshot is an error", time.Minute, func() bool {
		return strings.Contains(s.Run("kubectl", "get", "volumesnapshot", "missing", "-o", "jsonpath={.status.error.message}"), "can not find snapshot")
	})
}

// retentionPolicy: the claims of a StatefulSet over three zones go when it is scaled in and when it is deleted, and so do the disks.
func retentionPolicy(s *sandbox) {
	s.Run("kubectl", "apply", "-f", s.File("retention.yaml", `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: cache}
spec:
  serviceName: cache
  replicas: 3
  podManagementPolicy: Parallel
  persistentVolumeClaimRetentionPolicy: {whenScaled: Delete, whenDeleted: Delete}
  selector: {matchLabels: {app: cache}}
  template:
    metadata: {labels: {app: cache}}
    spec:
      terminationGracePeriodSeconds: 1
      topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: cache}}}
      containers: [{name: app, image: "registry.k8s.io/pause:3.10", volumeMounts: [{name: data, mountPath: /data}]}]
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`))
	zones := map[string]bool{}
	for i := range 3 {
		v := s.awaitVolume(fmt.Sprintf("data-cache-%d", i), api.VolumeInUse, time.Minute)
		zones[s.Node(v.Node).Zone] = true
	}
	if len(zones) != 3 {
		s.T.Errorf("the pods are in zones %v", zones)
	}
	left := func() (n int) {
		for claim := range s.volumes() {
			if strings.HasPrefix(claim, "data-cache-") {
				n++
			}
		}
		return n
	}
	s.Run("kubectl", "scale", "statefulset", "cache", "--replicas=1")
	s.Await("one volume is left", time.Minute, func() bool { return left() == 1 })
	s.Run("kubectl", "delete", "statefulset", "cache", "--timeout=60s")
	s.Await("no volume is left", time.Minute, func() bool { return left() == 0 })
}

// The scheduler knows the space of each zone: pods with claims that are too large for every datastore of one zone run in the other,
// and the driver is never asked for a volume where there is no space.
func TestStorageCapacity(t *testing.T) {
	t.Parallel()
	long(t)
	h := newHome(t)
	s := h.up("narrow", h.shipped("test/e2e/testdata/volumes/narrow.yaml"), "--csi", "builtin")
	for i := range 6 {
		claim := fmt.Sprintf("large-%d", i)
		s.Run("kubectl", "apply", "-f", s.File(claim+".yaml",
			strings.NewReplacer("NAMESPACE", "default", "CLAIM", claim, "POD", claim, "1Gi", "20Gi").Replace(claimAndPod)))
	}
	for i := range 6 {
		if v := s.awaitVolume(fmt.Sprintf("large-%d", i), api.VolumeInUse, time.Minute); v.Node != "wb-1" || v.Datastore != "ds-b" {
			t.Errorf("%+v", v)
		}
	}
	if failed := s.Run("kubectl", "get", "events", "--field-selector", "reason=ProvisioningFailed", "-o", "name"); failed != "" {
		t.Errorf("the driver was asked in vain: %s", failed)
	}
	capacities := s.Run("kubectl", "get", "csistoragecapacities", "-n", "vmware-system-csi", "-o", "jsonpath={range .items[*]}{.storageClassName} {.nodeTopology.matchLabels} {.maximumVolumeSize}{\"\\n\"}{end}")
	if !strings.Contains(capacities, `"small"`) || !strings.Contains(capacities, `"large"`) || !strings.Contains(capacities, "10Gi") {
		t.Errorf("capacities:\n%s", capacities)
	}
}

// A cluster with zones of which one host has no tag: up says which node waits, for which tags, and where it looked for them.
func TestHalfTagged(t *testing.T) {
	t.Parallel()
	long(t)
	h := newHome(t)
	r := h.Try("--name", "half", "up", h.shipped("test/e2e/testdata/volumes/half-tagged.yaml"), "--detach", "--csi", "builtin")
	if r.Code == 0 {
		t.Fatal("up is ready")
	}
	for _, want := range []string{"waiting for wb-1", `no tag of category "k8s-region" or "k8s-zone"`, `ClusterComputeResource "cb"`, "attach a tag of each category"} {
		if !strings.Contains(r.Both(), want) {
			t.Errorf("no %q in\n%s", want, r.Both())
		}
	}
}
