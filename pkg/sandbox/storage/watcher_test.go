package storage

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/watchcache"
)

func TestWatchVolumes(t *testing.T) {
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-1"},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName:       "fast",
			ClaimRef:               &corev1.ObjectReference{Namespace: "default", Name: "data"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.vsphere.vmware.com", VolumeHandle: "fcd-1"}},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	}
	old := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-0"}, Spec: corev1.PersistentVolumeSpec{
		PersistentVolumeSource: corev1.PersistentVolumeSource{VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{VolumePath: "[ds] a.vmdk"}},
	}}
	name := pv.Name
	attachment := &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "csi-1"},
		Spec:       storagev1.VolumeAttachmentSpec{NodeName: "worker-1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &name}},
		Status:     storagev1.VolumeAttachmentStatus{AttachError: &storagev1.VolumeError{Message: "no free slot"}},
	}
	w := watcher()
	var rows watchcache.Cache
	w.Cache = &rows
	client := fake.NewClientset(pv, old, attachment)
	factory := informers.NewSharedInformerFactory(client, 0)
	if err := w.Watch(factory); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	defer cancel()
	factory.WaitForCacheSync(ctx.Done())

	_, reader := rows.Read()
	defer reader.Close()
	settled := func(ok func() bool) {
		t.Helper()
		timeout := time.After(20 * time.Second)
		for !ok() {
			select {
			case <-reader.Wake:
			case <-timeout:
				t.Fatal("not told")
			}
		}
	}
	volumes := func() map[string]api.Volume {
		m := map[string]api.Volume{}
		for _, v := range rowsOf(&rows, func(u api.Update) *api.Volume { return u.Volume }) {
			m[v.Name] = v
		}
		return m
	}
	attachments := func() []api.Attachment {
		return rowsOf(&rows, func(u api.Update) *api.Attachment { return u.Attachment })
	}
	settled(func() bool { return len(volumes()) == 2 && len(attachments()) == 1 })
	want := map[string]api.Volume{
		"pv-0": {Name: "pv-0", Driver: "kubernetes.io/vsphere-volume", Handle: "[ds] a.vmdk", State: api.VolumeDetached},
		"pv-1": {Name: "pv-1", Phase: "Bound", Claim: "default/data", Driver: "csi.vsphere.vmware.com", Handle: "fcd-1", StorageClass: "fast", Node: "worker-1", State: api.VolumeLost, Waits: "CNS has no volume of this id: fcd-1"},
	}
	if diff := cmp.Diff(want, volumes()); diff != "" {
		t.Errorf("volumes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]api.Attachment{{Name: "csi-1", Volume: "pv-1", Node: "worker-1", Error: "no free slot"}}, attachments()); diff != "" {
		t.Errorf("attachments (-want +got):\n%s", diff)
	}

	attachment = attachment.DeepCopy()
	attachment.Status = storagev1.VolumeAttachmentStatus{Attached: true}
	if _, err := client.StorageV1().VolumeAttachments().Update(ctx, attachment, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	settled(func() bool { return attachments()[0].Attached })
	if a := attachments()[0]; a.Error != "" {
		t.Errorf("attached: %+v", a)
	}
	if err := client.StorageV1().VolumeAttachments().Delete(ctx, "csi-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().PersistentVolumes().Delete(ctx, "pv-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	settled(func() bool { return len(attachments()) == 0 && len(volumes()) == 1 })
}

// rowsOf returns the rows of one kind in a cache.
func rowsOf[T any](c *watchcache.Cache, pick func(api.Update) *T) (list []T) {
	lines, reader := c.Read()
	defer reader.Close()
	for _, l := range lines {
		var u api.Update
		if err := json.Unmarshal(l, &u); err != nil {
			panic(err)
		}
		if row := pick(u); row != nil {
			list = append(list, *row)
		}
	}
	return list
}

// Of a kubelet's warnings about pods, those about volumes are logged.
func TestWarningsOfKubelets(t *testing.T) {
	w := watcher()
	for _, reason := range []string{"Unhealthy", "BackOff", "FailedMount"} {
		w.Warning(&corev1.Event{
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "web"}, Type: corev1.EventTypeWarning,
			Source: corev1.EventSource{Component: "kubelet"}, Reason: reason, Message: "why",
		})
	}
	events, _ := w.Log.Read(0, 0)
	if len(events) != 1 || events[0].Kind != "pod.failed-mount" {
		t.Errorf("%+v", events)
	}
}
