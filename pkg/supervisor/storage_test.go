package supervisor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kuberesource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/tools/cache"
)

// fakeStorage is a vCenter's storage: what each call did is a line.
type fakeStorage struct {
	mu    sync.Mutex
	lines []string
	fail  error
}

func (f *fakeStorage) did(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines = append(f.lines, fmt.Sprintf(format, args...))
	return f.fail
}

func (f *fakeStorage) CreateVolume(_ context.Context, s VolumeSpec) (Volume, error) {
	return Volume{ID: "fcd-1", Bytes: s.Bytes, Zones: s.Zones}, f.did("create %s of %s in %v", s.Claim, s.Policy, s.Zones)
}

func (f *fakeStorage) DeleteVolume(_ context.Context, id string) error { return f.did("delete %s", id) }

func (f *fakeStorage) ExpandVolume(_ context.Context, id string, bytes int64) error {
	return f.did("expand %s to %d", id, bytes)
}

func (f *fakeStorage) AttachVolume(_ context.Context, id string, vm VM) (string, error) {
	return "6000c29c-ed89-55ea-a11f-6b474d0ca4da", f.did("attach %s to %s", id, vm.Name)
}

func (f *fakeStorage) DetachVolume(_ context.Context, id string, vm VM) error {
	return f.did("detach %s from %s", id, vm.Name)
}

func (f *fakeStorage) RecordEntity(_ context.Context, id string, e Entity, remove bool) error {
	return f.did("record %s: %s %s/%s of %s refers to %v, gone %t", id, e.Kind, e.Namespace, e.Name, e.Cluster, e.Refers.Name, remove)
}

// last returns what was done since the last call.
func (f *fakeStorage) last() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := strings.Join(f.lines, "; ")
	f.lines = nil
	return text
}

// oneVM is a vCenter with one VM.
type oneVM struct{ VCenter }

func (oneVM) VM(string) (VM, bool) {
	return VM{Name: "worker", UniqueID: "vm-7", BIOSUUID: "4200"}, true
}

// rig has the controllers of storage without their loops. Its informers hold what the API has at each look.
type rig struct {
	t *testing.T
	storage
	fake *fakeStorage
	gone []string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	scheme := runtime.NewScheme()
	lists := map[schema.GroupVersionResource]string{
		claims(): "PersistentVolumeClaimList", volumes(): "PersistentVolumeList", attachments(): "CnsNodeVmAttachmentList",
		volumeMetadata(): "CnsVolumeMetadataList", machines(): "VirtualMachineList", resource("", "v1", "events"): "EventList",
	}
	r := &rig{t: t, fake: &fakeStorage{}}
	r.storage = storage{&Supervisor{
		dynamic: fake.NewSimpleDynamicClientWithCustomListKinds(scheme, lists),
		opts: Options{
			VCenter: oneVM{}, Storage: r.fake, OnVolume: func(claim, id string, gone bool) { r.gone = append(r.gone, fmt.Sprint(claim, " ", id, " ", gone)) },
			Setup: Setup{Namespaces: []Namespace{{Name: "ns", Zones: []string{"a", "b"}, StoragePolicies: []string{"Gold SSD"}}}},
		},
		listers: map[schema.GroupVersionResource]cache.GenericLister{}, loops: map[schema.GroupVersionResource]*loop{},
	}}
	for gvr := range lists {
		r.loops[gvr] = newLoop(gvr.Resource, nil, &pause{}, nil)
	}
	return r
}

// look has the informers see what the API has.
func (r *rig) look() {
	r.t.Helper()
	for gvr := range r.loops {
		index := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		all, err := r.dynamic.Resource(gvr).List(r.t.Context(), metav1.ListOptions{})
		if err != nil {
			r.t.Fatal(err)
		}
		for i := range all.Items {
			if err := index.Add(&all.Items[i]); err != nil {
				r.t.Fatal(err)
			}
		}
		r.listers[gvr] = cache.NewGenericLister(index, gvr.GroupResource())
	}
}

// do looks and handles an object.
func (r *rig) do(reconcile func(context.Context, string) error, key string) error {
	r.t.Helper()
	r.look()
	return reconcile(r.t.Context(), key)
}

func (r *rig) create(gvr schema.GroupVersionResource, o any) {
	r.t.Helper()
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		var err error
		if u, err = unconvert(o); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := establish(r.t.Context(), r.in(gvr, u.GetNamespace()), u); err != nil {
		r.t.Fatal(err)
	}
}

func read[T any](r *rig, gvr schema.GroupVersionResource, namespace, name string) *T {
	r.t.Helper()
	o, err := fetch[T](r.t.Context(), r.in(gvr, namespace), name)
	if err != nil {
		r.t.Fatal(err)
	}
	return o
}

// mark sets the deletion timestamp, as an API server does with an object that has finalizers.
func (r *rig) mark(gvr schema.GroupVersionResource, namespace, name string) {
	r.t.Helper()
	o, err := r.in(gvr, namespace).Get(r.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	o.SetDeletionTimestamp(new(metav1.NewTime(time.Unix(1, 0))))
	if _, err := r.in(gvr, namespace).Update(r.t.Context(), o, metav1.UpdateOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

func claim(class string, annotations map[string]string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data", UID: "uid-1", Annotations: annotations},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: kuberesource.MustParse("1Gi")}},
		},
	}
}

// TestClaim: a claim gets a volume in the zones that its guest cluster asked for, is bound, grows, and takes the volume with it, but not
// while a VM has it.
func TestClaim(t *testing.T) {
	r := newRig(t)
	r.create(claims(), claim("gold-ssd", map[string]string{requestedTopology: `[{"topology.kubernetes.io/zone":"b"},{"topology.kubernetes.io/zone":"other"}]`}))
	if err := r.do(r.reconcileClaim, "ns/data"); err != nil {
		t.Fatal(err)
	}
	if got, want := r.fake.last(), "create data of Gold SSD in [b]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	c := read[corev1.PersistentVolumeClaim](r, claims(), "ns", "data")
	if c.Status.Phase != corev1.ClaimBound || c.Spec.VolumeName != "pvc-uid-1" || c.Annotations[accessibleTopology] != `[{"topology.kubernetes.io/zone":"b"}]` {
		t.Errorf("the claim is %s with %s, accessible from %s", c.Status.Phase, c.Spec.VolumeName, c.Annotations[accessibleTopology])
	}
	v := read[corev1.PersistentVolume](r, volumes(), "", "pvc-uid-1")
	if v.Spec.CSI.VolumeHandle != "fcd-1" || v.Status.Phase != corev1.VolumeBound || v.Spec.ClaimRef.UID != "uid-1" {
		t.Errorf("the volume is %+v", v)
	}
	c.Spec.Resources.Requests[corev1.ResourceStorage] = kuberesource.MustParse("2Gi")
	if _, err := replace(t.Context(), r.in(claims(), "ns"), c); err != nil {
		t.Fatal(err)
	}
	if err := r.do(r.reconcileClaim, "ns/data"); err != nil {
		t.Fatal(err)
	}
	c = read[corev1.PersistentVolumeClaim](r, claims(), "ns", "data")
	if got, want := r.fake.last(), "expand fcd-1 to 2147483648"; got != want || len(c.Status.Conditions) != 1 || c.Status.Conditions[0].Type != corev1.PersistentVolumeClaimFileSystemResizePending {
		t.Errorf("%s, want %s; conditions %v", got, want, c.Status.Conditions)
	}

	r.create(attachments(), attachment(vmObject(), VM{BIOSUUID: "4200"}, "disk", "data").Unstructured)
	r.mark(claims(), "ns", "data")
	if err := r.do(r.reconcileClaim, "ns/data"); err != nil {
		t.Fatal(err)
	}
	if c := read[corev1.PersistentVolumeClaim](r, claims(), "ns", "data"); len(c.Finalizers) != 1 {
		t.Error("a claim that a VM uses goes")
	}
	if err := r.in(attachments(), "ns").Delete(t.Context(), "worker-disk", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.do(r.reconcileClaim, "ns/data"); err != nil {
		t.Fatal(err)
	}
	if c := read[corev1.PersistentVolumeClaim](r, claims(), "ns", "data"); len(c.Finalizers) != 0 {
		t.Errorf("finalizers %v", c.Finalizers)
	}
	if err := r.do(r.reconcileVolume, "pvc-uid-1"); err != nil || r.fake.last() != "" {
		t.Errorf("the volume of a claim that is still there: %v", err)
	}
	if err := r.in(claims(), "ns").Delete(t.Context(), "data", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.do(r.reconcileClaim, "ns/data"); err != nil || r.loop(volumes()).queue.Len() != 1 {
		t.Errorf("%d volumes are looked at, %v", r.loop(volumes()).queue.Len(), err)
	}
	if err := r.do(r.reconcileVolume, "pvc-uid-1"); err != nil || r.fake.last() != "delete fcd-1" {
		t.Errorf("the volume was not deleted: %v", err)
	}
	if got, want := fmt.Sprint(r.gone[0], ", ", r.gone[len(r.gone)-1]), "data fcd-1 false, data fcd-1 true"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestRefusedClaims: a claim that cannot have a volume gets an Event with the reason, and stays Pending.
func TestRefusedClaims(t *testing.T) {
	for words, change := range map[string]func(*corev1.PersistentVolumeClaim, *fakeStorage){
		`StorageClass "silver" is not assigned to namespace ns`: func(c *corev1.PersistentVolumeClaim, _ *fakeStorage) { *c.Spec.StorageClassName = "silver" },
		"needs a file service": func(c *corev1.PersistentVolumeClaim, _ *fakeStorage) {
			c.Spec.AccessModes[0] = corev1.ReadWriteMany
		},
		"from a snapshot": func(c *corev1.PersistentVolumeClaim, _ *fakeStorage) {
			c.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "VolumeSnapshot", Name: "s"}
		},
		"the datastore is full": func(_ *corev1.PersistentVolumeClaim, f *fakeStorage) { f.fail = errors.New("the datastore is full") },
	} {
		r := newRig(t)
		c := claim("gold-ssd", nil)
		change(c, r.fake)
		r.create(claims(), c)
		if err := r.do(r.reconcileClaim, "ns/data"); (err != nil) != (r.fake.fail != nil) {
			t.Errorf("%s: %v", words, err)
		}
		events, err := r.in(resource("", "v1", "events"), "ns").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(events.Items) != 1 || !strings.Contains(text(&events.Items[0], "message"), words) || text(&events.Items[0], "type") != "Warning" {
			t.Errorf("%s: events %+v, %v", words, events, err)
		}
		if c := read[corev1.PersistentVolumeClaim](r, claims(), "ns", "data"); c.Spec.VolumeName != "" {
			t.Errorf("%s: it has a volume", words)
		}
	}
}

func vmObject(claims ...string) *unstructured.Unstructured {
	var list []any
	for _, c := range claims {
		list = append(list, map[string]any{"name": "disk-" + c, "persistentVolumeClaim": map[string]any{"claimName": c}})
	}
	o := object(machines(), "VirtualMachine", "ns", "worker", map[string]any{"volumes": list})
	o.SetUID(types.UID("vm-uid"))
	o.Object["status"] = map[string]any{"biosUUID": "4200", "uniqueID": "vm-7"}
	return o.Unstructured
}

// TestAttachment: the volumes of a VirtualMachine's spec become CnsNodeVmAttachments, which are attached; the status follows, and names a
// volume that is being detached.
func TestAttachment(t *testing.T) {
	r := newRig(t)
	r.create(claims(), claim("gold-ssd", nil))
	if err := r.do(r.reconcileClaim, "ns/data"); err != nil {
		t.Fatal(err)
	}
	r.fake.last()
	vm := VM{Name: "worker", UniqueID: "vm-7", BIOSUUID: "4200"}
	o := vmObject("data")
	r.create(machines(), o)
	statusOf := func(o *unstructured.Unstructured) string {
		t.Helper()
		r.look()
		status, err := r.attach(t.Context(), o, vm)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(status)
	}
	if got, want := statusOf(o), "[map[attached:false name:disk-data type:Managed]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r.fake.fail = errors.New("no free slot")
	if err := r.do(r.reconcileAttachment, "ns/worker-disk-data"); err == nil {
		t.Error("a failure is not tried again")
	}
	if got, want := statusOf(o), "[map[attached:false error:no free slot name:disk-data type:Managed]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r.fake.fail = nil
	r.fake.last()
	if err := r.do(r.reconcileAttachment, "ns/worker-disk-data"); err != nil || r.fake.last() != "attach fcd-1 to worker" {
		t.Errorf("not attached: %v", err)
	}
	const attached = "attached:true diskUUID:6000c29c-ed89-55ea-a11f-6b474d0ca4da"
	if got, want := statusOf(o), "[map["+attached+" name:disk-data type:Managed]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	a := read[metav1.PartialObjectMetadata](r, attachments(), "ns", "worker-disk-data")
	r.storage.changed(mustUnconvert(t, a))
	if got := r.loop(machines()).queue.Len(); got != 1 {
		t.Errorf("%d VirtualMachines follow the attachment, want 1", got)
	}

	r.mark(attachments(), "ns", "worker-disk-data")
	if got, want := statusOf(vmObject()), "[map["+attached+" name:disk-data:detaching type:Managed]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if done, err := r.detachAll(t.Context(), o); done || err != nil {
		t.Errorf("a VirtualMachine with an attachment may go: %t, %v", done, err)
	}
	if err := r.do(r.reconcileAttachment, "ns/worker-disk-data"); err != nil || r.fake.last() != "detach fcd-1 from worker" {
		t.Errorf("not detached: %v", err)
	}
	if a := read[metav1.PartialObjectMetadata](r, attachments(), "ns", "worker-disk-data"); len(a.Finalizers) != 0 {
		t.Errorf("finalizers %v", a.Finalizers)
	}
}

func mustUnconvert(t *testing.T, o any) *unstructured.Unstructured {
	t.Helper()
	u, err := unconvert(o)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestMetadata: an object of the guest cluster is in the record of its volume until the CnsVolumeMetadata goes.
func TestMetadata(t *testing.T) {
	r := newRig(t)
	r.create(claims(), claim("gold-ssd", nil))
	if err := r.do(r.reconcileClaim, "ns/data"); err != nil {
		t.Fatal(err)
	}
	r.fake.last()
	m := object(volumeMetadata(), "CnsVolumeMetadata", "ns", "m", map[string]any{
		"guestclusterid": "guest", "entitytype": "POD", "entityname": "web", "namespace": "default", "volumenames": []any{"data", "missing"},
		"entityreferences": []any{map[string]any{"EntityType": "PERSISTENT_VOLUME_CLAIM", "EntityName": "claim", "Namespace": "default", "ClusterID": "guest"}},
	})
	r.create(volumeMetadata(), m.Unstructured)
	if err := r.do(r.reconcileMetadata, "ns/m"); err != nil { // the finalizer
		t.Fatal(err)
	}
	if err := r.do(r.reconcileMetadata, "ns/m"); err == nil || !strings.Contains(err.Error(), "missing is not bound") {
		t.Errorf("a volume that does not exist: %v", err)
	}
	if got, want := r.fake.last(), "record fcd-1: POD default/web of guest refers to claim, gone false"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	o, err := r.in(volumeMetadata(), "ns").Get(t.Context(), "m", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	status, _, _ := unstructured.NestedSlice(o.Object, "status", "volumestatus")
	if got, want := fmt.Sprint(status), "[map[updated:true volumename:data] map[errormessage:PersistentVolumeClaim missing is not bound updated:false volumename:missing]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r.mark(volumeMetadata(), "ns", "m")
	if err := r.do(r.reconcileMetadata, "ns/m"); err != nil {
		t.Fatal(err)
	}
	if got, want := r.fake.last(), "record fcd-1: POD default/web of guest refers to claim, gone true"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if a := read[metav1.PartialObjectMetadata](r, volumeMetadata(), "ns", "m"); len(a.Finalizers) != 0 {
		t.Errorf("finalizers %v", a.Finalizers)
	}
}
