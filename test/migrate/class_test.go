package migrate

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// fresh is a claim of the old StorageClass, and a pod with it.
const fresh = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: fresh}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: thin-disk
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: fresh}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - {name: c, image: registry.k8s.io/pause:3.10, volumeMounts: [{name: data, mountPath: /data}]}
  volumes: [{name: data, persistentVolumeClaim: {claimName: fresh}}]
`

// class has the driver make a volume of an in-tree StorageClass, whose PersistentVolume is in the in-tree form.
func (w *world) class() {
	w.Helper()
	w.apply(fresh)
	w.running("fresh", "")
	v := object[corev1.PersistentVolume](w, "get", "pv", w.kubectl("get", "pvc", "fresh", "-o", "jsonpath={.spec.volumeName}"))
	if v.Spec.CSI != nil || v.Spec.VsphereVolume == nil || !strings.HasPrefix(v.Spec.VsphereVolume.VolumePath, "[dc-ds] fcd/") {
		w.Errorf("%+v", v.Spec.PersistentVolumeSource)
	}
	if by, to := v.Annotations["pv.kubernetes.io/provisioned-by"], v.Annotations["pv.kubernetes.io/migrated-to"]; by != "kubernetes.io/vsphere-volume" || to != "csi.vsphere.vmware.com" {
		w.Errorf("provisioned by %q, migrated to %q", by, to)
	}
	w.write("fresh", "file", "content")
	w.kubectl("delete", "pod", "fresh")
	w.kubectl("delete", "pvc", "fresh")
	w.await("the volume is gone, with its disk and its record", func() string {
		if left := w.kubectl("get", "pv", "-o", "name"); strings.TrimSpace(left) != "persistentvolume/shop" {
			return left
		}
		if left := w.kubectl("get", "cnsvspherevolumemigrations", "--no-headers"); strings.Contains(left, "fcd/") {
			return left
		}
		return ""
	})
	if left, err := w.try("govc", "datastore.ls", "fcd"); err == nil && strings.Contains(left, ".vmdk") {
		w.Errorf("left on the datastore: %s", left)
	}
}

// grown has the old volume be asked to become larger, which it does not, with a reason, and nothing is lost.
func (w *world) grown() {
	w.Helper()
	w.kubectl("patch", "pvc", "shop", "-p", `{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`)
	w.await("the claim says why not", func() string {
		out := w.kubectl("get", "events", "--field-selector", "involvedObject.name=shop,reason=VolumeResizeFailed", "-o", "jsonpath={.items[*].message}")
		if !strings.Contains(out, "Unimplemented") || !strings.Contains(out, "it cannot be expanded") {
			return "events: " + out
		}
		return ""
	})
	w.intact("when it was not expanded")
}
