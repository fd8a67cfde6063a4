package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// registered: a disk that a PersistentVolume names is a volume, and CNS knows its claim with its labels, and its pod.
func (s *sandbox) registered(disk string) {
	s.recorded("us", disk, `"POD"`, `"existing-disk"`, `"team"`, `"shop"`)
}

// record is what CNS has recorded for a volume, as JSON.
func (s *sandbox) record(vcenter, id string) string {
	s.T.Helper()
	return s.Run("govc", "--vcenter", vcenter, "volume.ls", "-json", id)
}

// recorded waits until the record of a volume has these texts.
func (s *sandbox) recorded(vcenter, id string, texts ...string) {
	s.T.Helper()
	s.Await(fmt.Sprintf("CNS knows %q", texts), time.Minute, func() bool {
		record := s.record(vcenter, id)
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(record, text) })
	})
}

// labeledLater: CNS knows the labels of a claim and its pod, and a label that the claim gets later.
func labeledLater(s *sandbox) {
	v := s.volumes()["labeled"]
	s.recorded(v.VCenter, v.Handle, `"POD"`, `"app.kubernetes.io/name"`, "xxxxxxxxxxx\"")
	s.Run("kubectl", "label", "pvc", "labeled", "added=later")
	s.recorded(v.VCenter, v.Handle, `"added"`, `"later"`)
}

// deletedFromTheEnd: the PersistentVolume is deleted first, then the claim, then the pod. Nothing is left.
func deletedFromTheEnd(s *sandbox) {
	v := s.awaitVolume("from-the-end", api.VolumeInUse, time.Minute)
	for _, object := range []string{"pv/" + v.Name, "pvc/from-the-end", "pod/from-the-end"} {
		s.Run("kubectl", "delete", object, "--wait=false")
	}
	s.Run("kubectl", "wait", "--for=delete", "pv/"+v.Name, "pvc/from-the-end", "pod/from-the-end", "--timeout=90s")
	s.Await("CNS does not have the volume", time.Minute, func() bool {
		return !strings.Contains(s.Run("govc", "--vcenter", v.VCenter, "volume.ls", "-json"), v.Handle)
	})
}

// boundByHand: a kept volume whose PersistentVolume is deleted leaves CNS, and its disk stays. It becomes a volume again when it gets a
// PersistentVolume that a user wrote, and its data is there.
func boundByHand(s *sandbox) {
	v := s.volumes()["kept"]
	s.Run("kubectl", "delete", "pod/kept", "pvc/kept", "pv/"+v.Name, "--timeout=60s")
	s.Await("CNS does not have it", time.Minute, func() bool {
		return !strings.Contains(s.Run("govc", "--vcenter", v.VCenter, "volume.ls", "-json"), v.Handle)
	})
	s.Await("it has no row", time.Minute, func() bool { return !strings.Contains(s.Run("get", "volumes"), v.Handle) })
	s.judge("later/17-reimport.yaml", "HANDLE", v.Handle, "ZONE", s.datastore(v.VCenter, v.Datastore).Zones[0])
	if got := s.Run("kubectl", "exec", "kept-again", "--", "cat", "/data/f"); got != "kept\n" {
		s.T.Errorf("the file has %q", got)
	}
	s.recorded(v.VCenter, v.Handle, `"kept-again"`)
}

// twoNames: two PersistentVolumes name one disk, each has a claim and a pod on the same node. Kubernetes attaches it once, and the
// rows of both say where it is.
func twoNames(s *sandbox) {
	first := s.volumes()["other-size"]
	s.judge("later/18-same-handle.yaml", "HANDLE", first.Handle, "NODE", first.Node)
	v := s.awaitVolume("twin", api.VolumeInUse, time.Minute)
	if v.Node != first.Node || v.Waits != "" || !slices.Equal(v.Pods, []string{"default/other-size", "default/twin"}) {
		s.T.Errorf("%+v", v)
	}
}

// boundAgain: a kept volume that another PersistentVolume names is not orphaned, and CNS knows it by that.
func boundAgain(s *sandbox) {
	v := s.volumes()["first-name"]
	s.Run("kubectl", "delete", "pvc", "first-name", "--timeout=60s")
	s.judge("later/19-renamed.yaml", "HANDLE", v.Handle, "ZONE", s.datastore(v.VCenter, v.Datastore).Zones[0])
	s.Run("kubectl", "delete", "pv", v.Name, "--timeout=60s")
	s.Await("CNS knows the second name alone", time.Minute, func() bool {
		record := s.record(v.VCenter, v.Handle)
		return strings.Contains(record, `"second-name"`) && !strings.Contains(record, `"first-name"`)
	})
	all, err := s.Client.Volumes(s.T.Context())
	if err != nil {
		s.T.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(other api.Volume) bool { return other.Handle != v.Handle && other.Name != v.Handle })
	if len(all) != 1 || all[0].Claim != "default/second-name" || all[0].State != api.VolumeInUse {
		s.T.Errorf("%+v", all)
	}
}

// diskOnAnotherVM: a disk that another client attached blocks its pod, and the advice helps.
func diskOnAnotherVM(s *sandbox) {
	s.Run("kubectl", "delete", "pod", "held", "--timeout=60s")
	v := s.awaitVolume("held", api.VolumeDetached, time.Minute)
	s.Run("govc", "--vcenter", "eu", "disk.attach", "-dc", "dceu", "-ds", v.Datastore, "-vm", "worker-eu-2", v.Handle)
	s.Await("the row has the VM", time.Minute, func() bool { return s.volumes()["held"].VM == "worker-eu-2" })
	if v := s.volumes()["held"]; v.Waits == "" {
		s.T.Errorf("nothing is said about the VM that has it: %+v", v)
	}
	s.Run("kubectl", "apply", "-f", s.shipped("test/e2e/testdata/volumes/later/23-moved.yaml"))
	if v = s.awaitVolume("held", api.VolumeBlocked, time.Minute); v.Try != "vsphere-sandbox volume detach default/held" {
		s.T.Errorf("%+v", v)
	}
	if text := s.Run("explain", "volume", "held"); strings.Contains(text, "vsphere-sandbox taint") || !strings.Contains(text, "No: VM eu/worker-eu-2 has its disk") {
		s.T.Error(text)
	}
	s.Run("volume", "detach", "default/held")
	s.awaitVolume("held", api.VolumeInUse, 2*time.Minute)
}

// attachedAgain: a VolumeAttachment of a volume in use that is deleted without its finalizer is made again.
func attachedAgain(s *sandbox) {
	v := s.volumes()["other-size"]
	name := func() string {
		return s.Run("kubectl", "get", "volumeattachments", "-o", `jsonpath={.items[?(@.spec.source.persistentVolumeName=="`+v.Name+`")].metadata.uid}`)
	}
	before := name()
	attachment := s.Run("kubectl", "get", "volumeattachments", "-o", `jsonpath={.items[?(@.spec.source.persistentVolumeName=="`+v.Name+`")].metadata.name}`)
	s.Run("kubectl", "patch", "volumeattachment", attachment, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	s.Run("kubectl", "delete", "volumeattachment", attachment, "--wait=false")
	s.Await("another one", 2*time.Minute, func() bool { now := name(); return now != "" && now != before })
	s.awaitVolume("other-size", api.VolumeInUse, time.Minute)
}

// hiddenUUIDs: the guest of a VM with disk.EnableUUID FALSE does not find the disk of a volume, and an Event says so. With TRUE it
// finds it.
func hiddenUUIDs(s *sandbox) {
	s.Run("govc", "--vcenter", "us", "vm.change", "-dc", "dcwest", "-e", "disk.enableuuid=FALSE", "-vm", "worker-west-1")
	s.judge("later/25-enableuuid.yaml")
	if v := s.volumes()["hidden"]; !strings.Contains(v.Waits, "not attached to node") {
		s.T.Errorf("%+v", v)
	}
	s.Run("govc", "--vcenter", "us", "vm.change", "-dc", "dcwest", "-e", "disk.enableuuid=TRUE", "-vm", "worker-west-1")
	s.awaitVolume("hidden", api.VolumeInUse, time.Minute)
}

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
