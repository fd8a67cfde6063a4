package upstream

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// guestPod is a pod with a claim of the default StorageClass.
const guestPod = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

// attachedMachine is what the test reads of the volumes of a VirtualMachine.
type attachedMachine struct {
	Status struct {
		Volumes []struct {
			Name, DiskUUID, Error string
			Attached              bool
		}
	}
}

// diskOf returns the UUID of the disk that a VirtualMachine has of a claim, "" for none.
func (m attachedMachine) diskOf(claim string) string {
	for _, v := range m.Status.Volumes {
		if v.Name == claim && v.Attached {
			return v.DiskUUID
		}
	}
	return ""
}

// TestGuestClaim: the unmodified release of the CSI driver runs in its guest flavor. A claim becomes a claim of the Supervisor, which has
// a volume of CNS; it is attached by way of the VirtualMachine, mounted, made larger, detached and deleted, and CNS knows its objects.
func TestGuestClaim(t *testing.T) {
	h, dir := newHome(t, driver)
	h.Must("--name", "guest", "up", "supervisor", "-d", "--csi", filepath.Join(dir, "vsphere-csi"))
	s := h.Attach("guest")
	file := h.File("web.yaml", guestPod)
	s.Run("kubectl", "apply", "-f", file)
	s.Run("kubectl", "wait", "--for=condition=Ready", "pod/web", "--timeout=120s")

	pod := program.Kubectl[corev1.Pod](s, "get", "pod", "web")
	v := program.Kubectl[corev1.PersistentVolume](s, "get", "pv", program.Kubectl[corev1.PersistentVolumeClaim](s, "get", "pvc", "data").Spec.VolumeName)
	handle := v.Spec.CSI.VolumeHandle
	claim := supervised[corev1.PersistentVolumeClaim](s, "get", "pvc", handle)
	if claim.Status.Phase != corev1.ClaimBound || *claim.Spec.StorageClassName != "shared" {
		t.Errorf("the Supervisor's claim is %s, of StorageClass %s", claim.Status.Phase, *claim.Spec.StorageClassName)
	}
	disk := func() string {
		return supervised[attachedMachine](s, "get", "virtualmachine", pod.Spec.NodeName).diskOf(handle)
	}
	if disk() == "" {
		t.Errorf("VirtualMachine %s has no disk of claim %s", pod.Spec.NodeName, handle)
	}
	if got := s.Run("get", "volumes"); !strings.Contains(got, "in-use") || strings.Contains(got, "lost") || strings.Contains(got, "orphaned") {
		t.Errorf("the volumes are\n%s", got)
	}
	entities := func() string {
		return s.Run("kubectl", "--context", "supervisor", "get", "cnsvolumemetadatas", "-o", `jsonpath={range .items[*]}{.spec.entitytype} {.spec.entityname} {.status.volumestatus[0].updated}{"\n"}{end}`)
	}
	s.Await("CNS knows the pod, the claim and the volume", time.Minute, func() bool {
		got := entities()
		return strings.Contains(got, "POD web true") && strings.Contains(got, "PERSISTENT_VOLUME_CLAIM data true") && strings.Contains(got, "PERSISTENT_VOLUME "+v.Name+" true")
	})

	s.Run("kubectl", "patch", "pvc", "data", "-p", `{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`)
	s.Await("the claim has 2Gi", 2*time.Minute, func() bool {
		size := program.Kubectl[corev1.PersistentVolumeClaim](s, "get", "pvc", "data").Status.Capacity[corev1.ResourceStorage]
		return size.String() == "2Gi"
	})

	s.Run("fault", "inject", "supervisor.token-rotated")
	s.Run("kubectl", "delete", "pod", "web")
	s.Await("the volume is detached", 2*time.Minute, func() bool { return disk() == "" })
	s.Run("kubectl", "delete", "pvc", "data", "--timeout=120s")
	s.Await("nothing is left of the claim", 2*time.Minute, func() bool {
		left := s.Run("kubectl", "--context", "supervisor", "get", "pvc,pv,cnsnodevmattachments,cnsvolumemetadatas", "-o", "name") + s.Run("kubectl", "get", "pv", "-o", "name")
		return strings.TrimSpace(left) == "" && !strings.Contains(s.Run("get", "volumes"), "data")
	})
}
