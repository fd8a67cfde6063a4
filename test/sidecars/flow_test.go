package sidecars

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
)

const node, zone, nodeID = "worker", "z1", "564d395e-d807-e18a-cb25-b79f65eb2b9f"

func snapshots() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1", Resource: "volumesnapshots"}
}

// The life of volumes, with the rights that there are.
func TestLifeOfVolumes(t *testing.T) {
	w := start(t)
	w.join()

	// Made at once, and expanded.
	w.claim("early", objects.ImmediateClass, "")
	w.bound("early")
	w.expand("early", "2Gi")

	// Made where the pod is, and attached there.
	w.claim("late", objects.DefaultClass, "")
	w.pod("late")
	late := w.bound("late")
	w.attached(late, nodeID)
	w.driver.look(func() {
		v := w.driver.volumes[late]
		if v.zone != zone || v.metadata["csi.storage.k8s.io/pvc/name"] != "late" {
			t.Errorf("it is in %q, with %v", v.zone, v.metadata)
		}
	})

	// Taken a snapshot of, and restored.
	w.snapshot("moment", "early")
	w.claim("again", objects.ImmediateClass, "moment")
	again := w.bound("again")
	w.driver.look(func() {
		if v := w.driver.volumes[again]; w.driver.snapshots[v.source] == "" {
			t.Errorf("it is made from %q, of %v", v.source, w.driver.snapshots)
		}
	})

	// And the end of it all.
	w.remove("late")
	w.attached(late, "")
	if err := w.dynamic.Resource(snapshots()).Namespace("default").Delete(t.Context(), "moment", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"early", "late", "again"} {
		if err := w.client.CoreV1().PersistentVolumeClaims("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.until("nothing is left", func() (err error) {
		w.driver.look(func() {
			if len(w.driver.volumes)+len(w.driver.snapshots) > 0 {
				err = fmt.Errorf("%d volumes, snapshots %v", len(w.driver.volumes), w.driver.snapshots)
			}
		})
		volumes, listErr := w.client.CoreV1().PersistentVolumes().List(t.Context(), metav1.ListOptions{})
		if listErr == nil && len(volumes.Items) > 0 {
			listErr = fmt.Errorf("%d PersistentVolumes", len(volumes.Items))
		}
		return errors.Join(err, listErr)
	})
	w.checkRights()
}

// join makes a node that has the driver.
func (w *world) join() {
	w.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: node, Labels: map[string]string{zoneKey: zone},
		Annotations: map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
	}}
	n.Status.Capacity = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("4Gi"), corev1.ResourcePods: resource.MustParse("10"),
	}
	n.Status.Allocatable = n.Status.Capacity
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()}}
	if _, err := w.client.CoreV1().Nodes().Create(w.Context(), n, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	w.create(&storagev1.CSINode{
		TypeMeta:   metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSINode"},
		ObjectMeta: metav1.ObjectMeta{Name: node},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
			Name: names.Driver, NodeID: nodeID, TopologyKeys: []string{zoneKey},
			Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(names.MaxVolumes))},
		}}},
	})
}

// claim asks for a volume, from a snapshot if one is named.
func (w *world) claim(name, class, snapshot string) {
	w.Helper()
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	if snapshot != "" {
		c.Spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: new(snapshots().Group), Kind: "VolumeSnapshot", Name: snapshot}
		c.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
	}
	if _, err := w.client.CoreV1().PersistentVolumeClaims("default").Create(w.Context(), c, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// bound waits for the volume of a claim, and returns its id.
func (w *world) bound(claim string) (id string) {
	w.Helper()
	w.until(claim+" is bound", func() error {
		c, err := w.client.CoreV1().PersistentVolumeClaims("default").Get(w.Context(), claim, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if c.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("it is %s", c.Status.Phase)
		}
		v, err := w.client.CoreV1().PersistentVolumes().Get(w.Context(), c.Spec.VolumeName, metav1.GetOptions{})
		if err == nil {
			id = v.Spec.CSI.VolumeHandle
		}
		return err
	})
	return id
}

func (w *world) expand(claim, size string) {
	w.Helper()
	w.until(claim+" asks for more", func() error {
		c, err := w.client.CoreV1().PersistentVolumeClaims("default").Get(w.Context(), claim, metav1.GetOptions{})
		if err == nil {
			c.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse(size)
			_, err = w.client.CoreV1().PersistentVolumeClaims("default").Update(w.Context(), c, metav1.UpdateOptions{})
		}
		return err
	})
	w.until(claim+" is expanded", func() error {
		c, err := w.client.CoreV1().PersistentVolumeClaims("default").Get(w.Context(), claim, metav1.GetOptions{})
		if err == nil && c.Status.Capacity.Storage().Cmp(resource.MustParse(size)) < 0 {
			err = fmt.Errorf("it has %v", c.Status.Capacity)
		}
		return err
	})
}

// pod starts one that uses a claim of its name. There is no kubelet: it is scheduled, and its volume attached.
func (w *world) pod(name string) {
	w.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "localhost/none", VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}}},
		Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}}},
	}}
	w.until("pod", func() error { // its ServiceAccount takes a moment
		_, err := w.client.CoreV1().Pods("default").Create(w.Context(), p, metav1.CreateOptions{})
		return err
	})
}

// remove ends a pod as if a kubelet had: nothing runs.
func (w *world) remove(pod string) {
	w.Helper()
	now := int64(0)
	if err := w.client.CoreV1().Pods("default").Delete(w.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil && !apierrors.IsNotFound(err) {
		w.Fatal(err)
	}
}

// attached waits until the driver has a volume at a node, or at none.
func (w *world) attached(id, where string) {
	w.Helper()
	w.until(fmt.Sprintf("%s is at %q", id, where), func() (err error) {
		w.driver.look(func() {
			if v := w.driver.volumes[id]; v.node != where {
				err = fmt.Errorf("it is at %q", v.node)
			}
		})
		return err
	})
}

// snapshot takes one of a claim, with the default class.
func (w *world) snapshot(name, claim string) {
	w.Helper()
	w.create(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
		"metadata": map[string]any{"name": name, "namespace": "default"},
		"spec":     map[string]any{"source": map[string]any{"persistentVolumeClaimName": claim}},
	}})
	w.until(name+" is ready", func() error {
		u, err := w.dynamic.Resource(snapshots()).Namespace("default").Get(w.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if ready, _, _ := unstructured.NestedBool(u.Object, "status", "readyToUse"); !ready {
			return fmt.Errorf("status %v", u.Object["status"])
		}
		return nil
	})
}
