package storage_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/storage"
)

// rig is an index with its sources.
type rig struct {
	*storage.Index
	disks    map[string]storage.Disk
	nodes    map[string]api.Node
	reported []string // "name state", "name gone"
}

func newRig() *rig {
	r := &rig{
		disks: map[string]storage.Disk{"fcd-1": {ID: "fcd-1", VCenter: "us", Datastore: "west-ds", CapacityBytes: 1 << 30, VM: "a"}},
		nodes: map[string]api.Node{"a": {Name: "a", Ready: "True"}, "b": {Name: "b", Ready: "True"}},
	}
	r.Index = storage.New(storage.Sources{
		Disk: func(id string) (storage.Disk, bool) { d, ok := r.disks[id]; return d, ok },
		Node: func(name string) (api.Node, bool) { n, ok := r.nodes[name]; return n, ok },
		Class: func(name string) (storagev1.VolumeBindingMode, bool) {
			mode, ok := map[string]storagev1.VolumeBindingMode{"now": storagev1.VolumeBindingImmediate, "later": storagev1.VolumeBindingWaitForFirstConsumer}[name]
			return mode, ok
		},
		ForceDetach: 36 * time.Second,
		Changed: func(v api.Volume, gone bool) {
			state := string(v.State)
			if gone {
				state = "gone"
			}
			r.reported = append(r.reported, v.Name+" "+state)
		},
	})
	return r
}

func (r *rig) only(t *testing.T) api.Volume {
	t.Helper()
	rows := r.Rows()
	if len(rows) != 1 {
		t.Fatalf("rows %+v, want one", rows)
	}
	return rows[0]
}

func claim(volume string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume, Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		}},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
	if volume != "" {
		c.Status.Phase = corev1.ClaimBound
	}
	return c
}

func volume(phase corev1.PersistentVolumePhase) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-1"},
		Spec: corev1.PersistentVolumeSpec{
			ClaimRef:                      &corev1.ObjectReference{Namespace: "default", Name: "data"},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.vsphere.vmware.com", VolumeHandle: "fcd-1"}},
		},
		Status: corev1.PersistentVolumeStatus{Phase: phase},
	}
}

func pod(name, node string, phase corev1.PodPhase, ending bool) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PodSpec{
		NodeName: node, Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}},
	}, Status: corev1.PodStatus{Phase: phase}}
	if ending {
		now := metav1.Now()
		p.DeletionTimestamp = &now
	}
	return p
}

func attachment(node string, attached, ending bool, message string) *storagev1.VolumeAttachment {
	pv := "pv-1"
	a := &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "csi-" + node},
		Spec:       storagev1.VolumeAttachmentSpec{NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv}},
		Status:     storagev1.VolumeAttachmentStatus{Attached: attached},
	}
	if ending {
		now := metav1.Now()
		a.DeletionTimestamp = &now
	}
	if message != "" {
		a.Status.AttachError = &storagev1.VolumeError{Message: message}
	}
	return a
}

// A volume from its claim to its end, as the objects come.
func TestLife(t *testing.T) {
	r := newRig()
	delete(r.disks, "fcd-1")
	r.Claim(claim(""), false)
	r.Pod(pod("web", "", corev1.PodPending, false), false)
	r.disks["fcd-1"] = storage.Disk{ID: "fcd-1", VCenter: "us", Datastore: "west-ds", CapacityBytes: 1 << 30}
	r.Disk("fcd-1")
	r.Volume(volume(corev1.VolumeBound), false)
	r.Claim(claim("pv-1"), false)
	r.Pod(pod("web", "a", corev1.PodPending, false), false)
	r.Attachment(attachment("a", false, false, ""), false)
	r.Attachment(attachment("a", true, false, ""), false)
	r.Pod(pod("web", "a", corev1.PodRunning, false), false)
	r.Pod(pod("web", "a", corev1.PodRunning, true), false)
	r.Pod(pod("web", "a", corev1.PodRunning, true), true)
	r.Attachment(attachment("a", true, true, ""), false)
	r.Attachment(attachment("a", true, true, ""), true)
	r.Claim(claim("pv-1"), true)
	r.Volume(volume(corev1.VolumeReleased), false)
	r.Volume(volume(corev1.VolumeReleased), true)
	delete(r.disks, "fcd-1")
	r.Disk("fcd-1")
	want := []string{
		"default/data pending", "default/data pending", // the second waits for the scheduler
		"fcd-1 orphaned", "fcd-1 gone", "pv-1 detached", "default/data gone",
		"pv-1 attaching", "pv-1 attaching", "pv-1 attached", "pv-1 in-use", "pv-1 attached", "pv-1 attached", "pv-1 detaching", "pv-1 detached",
		"pv-1 released", "fcd-1 orphaned", "pv-1 gone", "fcd-1 gone",
	}
	if diff := cmp.Diff(want, r.reported); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// What a volume waits for while its node is dead.
func TestWaits(t *testing.T) {
	dead := api.Node{Name: "a", Ready: "Unknown"}
	out := api.Node{Name: "a", Ready: "Unknown", Taints: []string{"node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"}}
	for _, tc := range []struct {
		name       string
		node       *api.Node
		pods       []*corev1.Pod
		attachment *storagev1.VolumeAttachment
		state      api.VolumeState
		waits, try string
	}{
		{"in use", nil, []*corev1.Pod{pod("web", "a", corev1.PodRunning, false)}, attachment("a", true, false, ""), api.VolumeInUse, "", ""},
		{"attach fails", nil, []*corev1.Pod{pod("web", "a", corev1.PodPending, false)}, attachment("a", false, false, "no free slot"), api.VolumeAttaching, "no free slot", ""},
		{"unmounts", nil, []*corev1.Pod{pod("web", "a", corev1.PodRunning, true)}, attachment("a", true, false, ""), api.VolumeAttached, "the kubelet of a to unmount it", ""},
		{"stuck", &dead, []*corev1.Pod{pod("web", "a", corev1.PodRunning, true)}, attachment("a", true, false, ""), api.VolumeAttached, "cannot say that its containers are gone", "taint out-of-service a"},
		{"multi-attach", &dead, []*corev1.Pod{pod("web", "a", corev1.PodRunning, true), pod("new", "b", corev1.PodPending, false)}, attachment("a", true, false, ""), api.VolumeBlocked, "pod default/new wants it on node b", "kubectl delete pod --force"},
		{"forced", &dead, []*corev1.Pod{pod("new", "b", corev1.PodPending, false)}, attachment("a", true, false, ""), api.VolumeBlocked, "by force 36s", "taint out-of-service a"},
		{"no node", &api.Node{Name: "other"}, []*corev1.Pod{pod("web", "gone", corev1.PodRunning, false)}, attachment("gone", true, false, ""), api.VolumeAttached, "node gone is no more: the garbage collector to remove pod default/web", "kubectl delete pod --force, of default/web"},
		{"silent", &dead, []*corev1.Pod{pod("web", "a", corev1.PodRunning, false)}, attachment("a", true, false, ""), api.VolumeInUse, "node a to answer", ""},
		{"out of service, with its pod", &out, []*corev1.Pod{pod("web", "a", corev1.PodRunning, true)}, attachment("a", true, false, ""), api.VolumeAttached, "the garbage collector, which looks every 20s, to remove pod default/web", ""},
		{"out of service", &out, []*corev1.Pod{pod("new", "b", corev1.PodPending, false)}, attachment("a", true, false, ""), api.VolumeBlocked, "at once", ""},
		{"unscheduled", nil, []*corev1.Pod{pod("web", "", corev1.PodPending, false)}, nil, api.VolumeDetached, "the scheduler", ""},
		{"unmounted", nil, []*corev1.Pod{pod("web", "a", corev1.PodRunning, true)}, nil, api.VolumeDetached, "pod default/web, which is being deleted, to be gone", ""},
		{"replaced", nil, []*corev1.Pod{pod("a-old", "a", corev1.PodRunning, true), pod("new", "b", corev1.PodPending, false)}, nil, api.VolumeAttaching, "for pod default/new", ""},
		{"detaching", nil, nil, attachment("a", true, true, ""), api.VolumeDetaching, "csi-attacher to detach it from node a", ""},
		{"idle", nil, nil, nil, api.VolumeDetached, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig()
			if tc.node != nil {
				r.nodes["a"] = *tc.node
			}
			r.Claim(claim("pv-1"), false)
			r.Volume(volume(corev1.VolumeBound), false)
			for _, p := range tc.pods {
				r.Pod(p, false)
			}
			if tc.attachment != nil {
				r.Attachment(tc.attachment, false)
			} else {
				r.disks["fcd-1"] = storage.Disk{ID: "fcd-1"}
				r.Disk("fcd-1")
			}
			got := r.only(t)
			if got.State != tc.state || !strings.Contains(got.Waits, tc.waits) || (tc.waits == "") != (got.Waits == "") || !strings.Contains(got.Try, tc.try) || (tc.try == "") != (got.Try == "") {
				t.Errorf("%s, waits for %q, try %q", got.State, got.Waits, got.Try)
			}
		})
	}
}

// A disk that was detached from its VM without Kubernetes is not in use, although the pod has it.
func TestTakenAway(t *testing.T) {
	r := newRig()
	r.disks["fcd-1"] = storage.Disk{ID: "fcd-1"}
	r.Claim(claim("pv-1"), false)
	r.Volume(volume(corev1.VolumeBound), false)
	r.Pod(pod("web", "a", corev1.PodRunning, false), false)
	r.Attachment(attachment("a", true, false, ""), false)
	if got := r.only(t); got.Waits != "its disk is on no VM: csi-attacher to find out and attach it again" {
		t.Errorf("waits for %q", got.Waits)
	}
}

// A volume that CNS does not know is lost, and so is a claim whose volume is.
func TestLost(t *testing.T) {
	r := newRig()
	delete(r.disks, "fcd-1")
	r.Volume(volume(corev1.VolumeBound), false)
	if got := r.only(t); got.State != api.VolumeLost || !strings.Contains(got.Waits, "fcd-1") {
		t.Errorf("%+v", got)
	}
	r.disks["fcd-1"] = storage.Disk{ID: "fcd-1"}
	r.Disk("fcd-1")
	if got := r.only(t); got.State != api.VolumeDetached {
		t.Errorf("%+v", got)
	}
}

// A node that recovers changes what the volumes on it wait for.
func TestNode(t *testing.T) {
	r := newRig()
	r.nodes["a"] = api.Node{Name: "a", Ready: "Unknown"}
	r.Claim(claim("pv-1"), false)
	r.Volume(volume(corev1.VolumeBound), false)
	r.Pod(pod("web", "a", corev1.PodRunning, true), false)
	r.Attachment(attachment("a", true, false, ""), false)
	before := r.only(t)
	r.nodes["a"] = api.Node{Name: "a", Ready: "True"}
	r.Node("a")
	if after := r.only(t); before.Try == "" || after.Try != "" {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

// What a claim without a volume waits for.
func TestPending(t *testing.T) {
	refused := &corev1.Event{
		InvolvedObject: corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "default", Name: "data"},
		Reason:         "ProvisioningFailed", Message: "no clones",
	}
	for _, tc := range []struct {
		name, class string
		warned      bool
		want        string
	}{
		{"no class", "", false, "a PersistentVolume that fits, or a StorageClass: it names none"},
		{"unknown class", "gold", false, "StorageClass gold, which does not exist"},
		{"first consumer", "later", false, "a pod that uses it: StorageClass later waits for the first consumer"},
		{"immediate", "now", false, "csi-provisioner"},
		{"refused", "now", true, "csi-provisioner: no clones"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig()
			delete(r.disks, "fcd-1")
			c := claim("")
			if tc.class != "" {
				c.Spec.StorageClassName = &tc.class
			}
			r.Claim(c, false)
			if tc.warned {
				r.Warning(refused)
			}
			if got := r.only(t); got.State != api.VolumePending || got.Waits != tc.want {
				t.Errorf("%s, waits for %q, want %q", got.State, got.Waits, tc.want)
			}
		})
	}
}

// A warning is reported as long as its object waits, and is removed with the object.
func TestComplaints(t *testing.T) {
	warn := func(kind, namespace, name, reason string) *corev1.Event {
		return &corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: namespace, Name: name}, Reason: reason, Message: reason + " indeed"}
	}
	r := newRig()
	r.Claim(claim("pv-1"), false)
	r.Volume(volume(corev1.VolumeBound), false)
	r.Pod(pod("web", "a", corev1.PodPending, false), false)
	r.Attachment(attachment("a", true, false, ""), false)
	r.Warning(warn("Pod", "default", "web", "BackOff"))
	if got := r.only(t).Waits; strings.Contains(got, "indeed") {
		t.Errorf("waits for %q: that has nothing to do with it", got)
	}
	r.Warning(warn("Pod", "default", "web", "FailedMount"))
	if got := r.only(t).Waits; got != "the kubelet of a to mount it for pod default/web: FailedMount indeed" {
		t.Errorf("waits for %q", got)
	}
	r.Pod(pod("web", "a", corev1.PodRunning, false), false)
	r.Pod(pod("web", "a", corev1.PodPending, false), false)
	if got := r.only(t).Waits; got != "the kubelet of a to mount it for pod default/web" {
		t.Errorf("after it has run, waits for %q", got)
	}
	r.Pod(pod("web", "a", corev1.PodPending, false), true)
	r.Attachment(attachment("a", true, false, ""), true)
	r.Claim(claim(""), false)
	r.Volume(volume(corev1.VolumeBound), true)
	delete(r.disks, "fcd-1")
	r.Disk("fcd-1")
	r.Pod(pod("web", "", corev1.PodPending, false), false)
	r.Warning(warn("PersistentVolumeClaim", "default", "data", "ProvisioningFailed"))
	if got := r.only(t).Waits; got != "the scheduler, for pod default/web: ProvisioningFailed indeed" {
		t.Errorf("waits for %q", got)
	}
	r.Pod(pod("web", "", corev1.PodPending, false), true)
	r.disks["fcd-1"] = storage.Disk{ID: "fcd-1"}
	r.Claim(claim(""), true)
	r.Volume(volume(corev1.VolumeReleased), false)
	r.Warning(warn("PersistentVolume", "", "pv-1", "VolumeFailedDelete"))
	if got := r.only(t).Waits; got != "csi-provisioner to delete it: VolumeFailedDelete indeed" {
		t.Errorf("waits for %q", got)
	}
}

// A claim that waits for a StorageClass is updated when the class is created.
func TestClass(t *testing.T) {
	r := newRig()
	delete(r.disks, "fcd-1")
	name, c := "gold", claim("")
	c.Spec.StorageClassName = &name
	r.Claim(c, false)
	r.Class("silver")
	reported := len(r.reported)
	*c.Spec.StorageClassName = "now" // as if gold were that by now
	r.Class("now")
	if got := r.only(t).Waits; len(r.reported) == reported || got != "csi-provisioner" {
		t.Errorf("waits for %q", got)
	}
}

// Rows come by claim, as people name them.
func TestOrder(t *testing.T) {
	r := newRig()
	for pv, claim := range map[string]string{"pv-1": "web-2", "pv-2": "web-0", "pv-3": "web-1"} {
		v := volume(corev1.VolumeBound)
		v.Name, v.Spec.ClaimRef.Name, v.Spec.CSI.VolumeHandle = pv, claim, pv
		r.Volume(v, false)
	}
	var got []string
	for _, v := range r.Rows() {
		got = append(got, v.Claim)
	}
	if diff := cmp.Diff([]string{"default/web-0", "default/web-1", "default/web-2"}, got); diff != "" {
		t.Error(diff)
	}
}

// A disk that a VM has, of a volume that is attached to no node, blocks it, and the advice is to detach it.
func TestElsewhere(t *testing.T) {
	r := newRig()
	r.nodes["b"] = api.Node{Name: "b", Ready: "True", VM: "b"}
	r.Claim(claim("pv-1"), false)
	r.Volume(volume(corev1.VolumeBound), false)
	if v := r.only(t); v.State != api.VolumeDetached || v.Waits != "VM a has its disk, though it is attached to no node" || v.Try != "vsphere-sandbox volume detach default/data" {
		t.Errorf("detached: %+v", v)
	}
	r.Pod(pod("p", "b", corev1.PodPending, false), false)
	for _, a := range []*storagev1.VolumeAttachment{nil, attachment("b", false, false, "FailedPrecondition: in use")} {
		if a != nil {
			r.Attachment(a, false)
		}
		if v := r.only(t); v.State != api.VolumeBlocked || v.Waits != "VM a has its disk, and node b wants it" || v.Try != "vsphere-sandbox volume detach default/data" {
			t.Errorf("wanted: %+v", v)
		}
	}
	r.disks["fcd-1"] = storage.Disk{ID: "fcd-1", VM: "b"}
	r.Disk("fcd-1")
	if v := r.only(t); v.State != api.VolumeAttaching {
		t.Errorf("on its way: %+v", v)
	}
}

// A volume that two PersistentVolumes name is no orphan while one of them is there.
func TestTwoNames(t *testing.T) {
	r := newRig()
	first, second := volume(corev1.VolumeReleased), volume(corev1.VolumeBound)
	second.Name = "pv-2"
	r.Volume(first, false)
	r.Volume(second, false)
	r.Volume(first, true)
	if v := r.only(t); v.Name != "pv-2" || v.State == api.VolumeOrphaned {
		t.Errorf("%+v", v)
	}
	r.Volume(second, true)
	if v := r.only(t); v.Name != "fcd-1" || v.State != api.VolumeOrphaned {
		t.Errorf("%+v", v)
	}
}

// Kubernetes attaches a disk that two PersistentVolumes name once: both rows have the attachment and the pod.
func TestTwoNamesAttached(t *testing.T) {
	r := newRig()
	first, second := volume(corev1.VolumeBound), volume(corev1.VolumeBound)
	second.Name, second.Spec.ClaimRef = "pv-2", &corev1.ObjectReference{Namespace: "default", Name: "twin"}
	user := pod("p", "a", corev1.PodRunning, false)
	user.Spec.Volumes[0].PersistentVolumeClaim.ClaimName = "twin"
	r.Volume(first, false)
	r.Volume(second, false)
	r.Pod(user, false)
	r.Attachment(attachment("a", true, false, ""), false) // of the first
	want := func(volumes ...string) {
		t.Helper()
		var all []string
		for _, v := range r.Rows() {
			if all = append(all, v.Name); v.State != api.VolumeInUse || v.Node != "a" || v.Waits != "" || !slices.Equal(v.Pods, []string{"default/p"}) {
				t.Errorf("%+v", v)
			}
		}
		if slices.Sort(all); !slices.Equal(all, volumes) {
			t.Errorf("volumes %v, want %v", all, volumes)
		}
	}
	want("pv-1", "pv-2")
	r.Attachment(attachment("a", true, false, ""), true)
	for _, v := range r.Rows() {
		if v.State == api.VolumeInUse {
			t.Errorf("without the attachment: %+v", v)
		}
	}
	r.Volume(first, true)
	own := attachment("a", true, false, "")
	own.Spec.Source.PersistentVolumeName = &second.Name
	r.Attachment(own, false)
	want("pv-2")
}

// An expansion that has not ended is what a volume waits for.
func TestResize(t *testing.T) {
	for name, tc := range map[string]struct {
		status corev1.ClaimResourceStatus
		want   string
	}{
		"asked":      {"", "csi-resizer to expand it to 5Ti"},
		"failed":     {corev1.PersistentVolumeClaimControllerResizeInProgress, "csi-resizer to expand it to 5Ti: no space"},
		"infeasible": {corev1.PersistentVolumeClaimControllerResizeInfeasible, "a smaller request: it cannot be expanded to 5Ti: no space"},
		"node":       {corev1.PersistentVolumeClaimNodeResizePending, "the kubelet of a to grow its file system to 5Ti"},
	} {
		r := newRig()
		c := claim("pv-1")
		c.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("5Ti")
		c.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		if tc.status != "" {
			c.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: tc.status}
		}
		r.Volume(volume(corev1.VolumeBound), false)
		r.Claim(c, false)
		r.Attachment(attachment("a", true, false, ""), false)
		r.Pod(pod("p", "a", corev1.PodRunning, false), false)
		if strings.HasSuffix(tc.want, "no space") {
			r.Warning(&corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "default", Name: "data"}, Reason: "VolumeResizeFailed", Message: "no space"})
		}
		if v := r.only(t); v.State != api.VolumeInUse || v.Waits != tc.want {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// The scheduler never sees a pod with a nodeName.
func TestNodeName(t *testing.T) {
	r := newRig()
	c, class := claim(""), "later"
	c.Spec.StorageClassName = &class
	r.Claim(c, false)
	r.Pod(pod("p", "a", corev1.PodPending, false), false)
	if v := r.only(t); !strings.Contains(v.Waits, "pod default/p sets nodeName") {
		t.Errorf("%+v", v)
	}
}
