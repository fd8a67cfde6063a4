package csiupstream

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

const tenant = "default"

// await waits, for as long as a machine may be busy.
func (w *world) await(what string, complaint func(context.Context) error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	w.poll(ctx, what, func() error { return complaint(ctx) })
}

// class makes the CSIDriver and a StorageClass for one zone.
func (w *world) class(name, zone string) {
	w.t.Helper()
	ctx, storage, yes := w.t.Context(), w.Lab.Client.StorageV1(), true
	_, err := storage.CSIDrivers().Create(ctx, &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: storagev1.CSIDriverSpec{AttachRequired: &yes},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		w.t.Fatal(err)
	}
	immediate := storagev1.VolumeBindingImmediate
	if _, err := storage.StorageClasses().Create(ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: driver, VolumeBindingMode: &immediate, AllowVolumeExpansion: &yes,
		AllowedTopologies: []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
			{Key: zoneKey, Values: []string{zone}},
		}}},
	}, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// claim makes a PVC, perhaps of a snapshot, and returns the PV that it is bound to.
func (w *world) claim(name, class, size, snapshot string) *corev1.PersistentVolume {
	w.t.Helper()
	pvc := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "shop"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
		},
	}
	if snapshot != "" {
		group := "snapshot.storage.k8s.io"
		pvc.Spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: &group, Kind: "VolumeSnapshot", Name: snapshot}
	}
	claims := w.Lab.Client.CoreV1().PersistentVolumeClaims(tenant)
	if _, err := claims.Create(w.t.Context(), pvc, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	var pv *corev1.PersistentVolume
	w.await("PVC "+name+" is bound", func(ctx context.Context) error {
		is, err := claims.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if is.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("it is %s", is.Status.Phase)
		}
		pv, err = w.Lab.Client.CoreV1().PersistentVolumes().Get(ctx, is.Spec.VolumeName, metav1.GetOptions{})
		return err
	})
	return pv
}

// attachment makes a VolumeAttachment, as the attach/detach controller does for a pod, and returns the disk's UUID.
func (w *world) attachment(name string, pv *corev1.PersistentVolume, m *lab.Machine) string {
	w.t.Helper()
	attachments := w.Lab.Client.StorageV1().VolumeAttachments()
	if _, err := attachments.Create(w.t.Context(), &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: driver, NodeName: m.Name, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv.Name},
		},
	}, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	var uuid string
	w.await("VolumeAttachment "+name+" is attached", func(ctx context.Context) error {
		a, err := attachments.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !a.Status.Attached {
			return fmt.Errorf("attach error: %+v", a.Status.AttachError)
		}
		uuid = a.Status.AttachmentMetadata["diskUUID"]
		return nil
	})
	return uuid
}

// detachment deletes a VolumeAttachment, which is gone when the volume is detached.
func (w *world) detachment(name string) {
	w.t.Helper()
	attachments := w.Lab.Client.StorageV1().VolumeAttachments()
	if err := attachments.Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.await("VolumeAttachment "+name+" is gone", func(ctx context.Context) error {
		a, err := attachments.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("detach error: %+v, %w", a.Status.DetachError, err)
	})
}

// grow asks for a larger volume, and waits until the PV is.
func (w *world) grow(claim string, pv *corev1.PersistentVolume, size string) {
	w.t.Helper()
	patch := fmt.Sprintf(`{"spec":{"resources":{"requests":{"storage":%q}}}}`, size)
	_, err := w.Lab.Client.CoreV1().PersistentVolumeClaims(tenant).Patch(w.t.Context(), claim, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	want := resource.MustParse(size)
	w.await("PV of "+claim+" has "+size, func(ctx context.Context) error {
		is, err := w.Lab.Client.CoreV1().PersistentVolumes().Get(ctx, pv.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got := is.Spec.Capacity[corev1.ResourceStorage]; got.Cmp(want) != 0 {
			return fmt.Errorf("it has %s", got.String())
		}
		return nil
	})
}

// drop deletes a PVC, and waits until its PV is gone.
func (w *world) drop(claim string, pv *corev1.PersistentVolume) {
	w.t.Helper()
	if err := w.Lab.Client.CoreV1().PersistentVolumeClaims(tenant).Delete(w.t.Context(), claim, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.await("PV of "+claim+" is gone", func(ctx context.Context) error {
		is, err := w.Lab.Client.CoreV1().PersistentVolumes().Get(ctx, pv.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is %s: %s; %w", is.Status.Phase, is.Status.Message, err)
	})
}

var (
	snapshotClasses = schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1", Resource: "volumesnapshotclasses"}
	volumeSnapshots = schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1", Resource: "volumesnapshots"}
)

// takeSnapshot takes one of a claim's volume, and waits until it can be used.
func (w *world) takeSnapshot(name, claim string) {
	w.t.Helper()
	ctx := w.t.Context()
	class := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotClass", "metadata": map[string]any{"name": "upstream"},
		"driver": driver, "deletionPolicy": "Delete",
	}}
	w.await("snapshot classes can be made", func(ctx context.Context) error {
		_, err := w.dynamic.Resource(snapshotClasses).Create(ctx, class, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
	all := w.dynamic.Resource(volumeSnapshots).Namespace(tenant)
	if _, err := all.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"volumeSnapshotClassName": "upstream", "source": map[string]any{"persistentVolumeClaimName": claim}},
	}}, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.await("snapshot "+name+" is ready", func(ctx context.Context) error {
		s, err := all.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if ready, _, _ := unstructured.NestedBool(s.Object, "status", "readyToUse"); !ready {
			return fmt.Errorf("status is %v", s.Object["status"])
		}
		return nil
	})
}

// dropSnapshot deletes one, which is gone when the vCenter's is.
func (w *world) dropSnapshot(name string) {
	w.t.Helper()
	all := w.dynamic.Resource(volumeSnapshots).Namespace(tenant)
	if err := all.Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.await("snapshot "+name+" is gone", func(ctx context.Context) error {
		_, err := all.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
}
