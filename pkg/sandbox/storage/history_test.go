package storage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/watchcache"
)

// From the claim to the pod that runs, and from the taint to the volume that is free, each step names the one before.
func TestHistoryCauses(t *testing.T) {
	w := watcher()
	if err := w.Watch(informers.NewSharedInformerFactory(fake.NewClientset(), 0)); err != nil {
		t.Fatal(err)
	}
	b := w.index
	d := &history{log: w.Log, causes: w.Causes, index: b, last: map[string]uint64{}}
	vsphere := func(kind string) {
		w.Log.Append(event.Event{Plane: event.PlaneVSphere, Kind: kind, Object: event.Object{Kind: "Volume", VCenter: "us", Name: "pv-1"}})
	}
	claim := func(phase corev1.PersistentVolumeClaimPhase, volume string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume},
			Status: corev1.PersistentVolumeClaimStatus{Phase: phase},
		}
	}
	pod := func(node string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: corev1.PodSpec{
			NodeName: node, Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}},
		}, Status: corev1.PodStatus{Phase: phase}}
	}
	pv := "pv-1"
	attachment := func(attached bool) *storagev1.VolumeAttachment {
		return &storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{Name: "csi-1"},
			Spec:       storagev1.VolumeAttachmentSpec{NodeName: "a", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv}},
			Status:     storagev1.VolumeAttachmentStatus{Attached: attached},
		}
	}
	from := w.Log.Last()

	pending, bound := claim(corev1.ClaimPending, ""), claim(corev1.ClaimBound, pv)
	b.Claim(pending, false)
	d.claim(nil, pending, false)
	unscheduled, scheduled, running := pod("", corev1.PodPending), pod("a", corev1.PodPending), pod("a", corev1.PodRunning)
	b.Pod(unscheduled, false)
	d.pod(nil, unscheduled, false)
	vsphere("volume.created")
	b.Volume(&corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: pv}, Spec: corev1.PersistentVolumeSpec{ClaimRef: &corev1.ObjectReference{Namespace: "default", Name: "data"}},
	}, false)
	b.Claim(bound, false)
	d.claim(pending, bound, false)
	b.Pod(scheduled, false)
	d.pod(unscheduled, scheduled, false)
	d.attachment(nil, attachment(false), false)
	vsphere("volume.attached")
	d.attachment(attachment(false), attachment(true), false)
	b.Pod(running, false)
	d.pod(scheduled, running, false)
	w.Log.Append(event.Event{Plane: event.PlaneKubernetes, Kind: "node.tainted", Object: event.Object{Kind: "Node", Name: "a"}, Message: "taint " + corev1.TaintNodeOutOfService})
	w.Log.Append(event.Event{Plane: event.PlaneKubernetes, Kind: "node.tainted", Object: event.Object{Kind: "Node", Name: "a"}, Message: "taint node.cloudprovider.kubernetes.io/shutdown"})
	now := metav1.Now()
	ending := pod("a", corev1.PodRunning)
	ending.DeletionTimestamp = &now
	ending.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager"}}
	d.pod(running, ending, false)
	b.Pod(ending, true)
	d.pod(nil, ending, true)
	leaving := attachment(true)
	leaving.DeletionTimestamp = &now
	d.attachment(attachment(true), leaving, false)
	vsphere("volume.detached")
	d.attachment(nil, leaving, true)

	// A taint of the node is not the cause when a user deletes the pod.
	byHand := pod("a", corev1.PodRunning)
	byHand.Name, byHand.DeletionTimestamp = "by-hand", &now
	d.pod(pod("a", corev1.PodRunning), byHand, false)

	kinds := map[uint64]string{}
	events, _ := w.Log.Read(from, 0)
	var got []string
	for _, e := range events {
		kinds[e.Seq] = e.Kind
		if e.Kind == "node.tainted" {
			kinds[e.Seq] = e.Message
		}
		if e.Plane == event.PlaneKubernetes {
			got = append(got, e.Kind+" <- "+kinds[e.Cause])
		}
	}
	want := []string{
		"claim.created <- ", "pod.created <- ", "claim.bound <- volume.created", "pod.scheduled <- claim.bound",
		"attachment.created <- pod.scheduled", "attachment.attached <- volume.attached", "pod.running <- attachment.attached",
		"node.tainted <- ", "node.tainted <- ", "pod.terminating <- taint " + corev1.TaintNodeOutOfService, "pod.deleted <- pod.terminating",
		"attachment.detaching <- pod.deleted", "attachment.deleted <- volume.detached", "pod.terminating <- ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// watcher returns one without vCenters.
func watcher() *Watcher {
	log := event.NewLog(0)
	return &Watcher{
		Log: log, Cache: &watchcache.Cache{}, VCenters: func() vcenters.List { return nil }, Nodes: func() []api.Node { return nil },
		Causes: &causality.Finder{Log: log, Grace: 4 * time.Second},
	}
}
