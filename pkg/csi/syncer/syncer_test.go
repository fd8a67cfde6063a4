package syncer_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/syncer"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// records is CNS in memory.
type records struct {
	mu      sync.Mutex
	volumes map[string][]volume.Entity // by id
	disks   map[string]bool            // first-class disks that are no volumes
	busy    map[string]bool            // volumes that are attached
	sick    map[string]bool            // volumes that are not healthy, and whose health is not known
	unknown map[string]bool
	down    error
	calls   map[string]int
}

func (r *records) enter(call string) (leave func(), err error) {
	r.mu.Lock()
	r.calls[call]++
	return r.mu.Unlock, r.down
}

func (r *records) Records(context.Context) (all []volume.Record, err error) {
	leave, err := r.enter("Records")
	defer leave()
	for _, id := range slices.Sorted(maps.Keys(r.volumes)) {
		if err == nil {
			all = append(all, volume.Record{Volume: volume.Volume{ID: id, Healthy: !r.sick[id]}, Entities: r.volumes[id], HealthUnknown: r.unknown[id]})
		}
	}
	return all, err
}

func (r *records) UpdateRecord(_ context.Context, id string, set, remove []volume.Entity) error {
	leave, err := r.enter("UpdateRecord")
	defer leave()
	old, ok := r.volumes[id]
	switch {
	case err != nil:
		return err
	case !ok:
		return volume.ErrNotFound
	}
	fresh := slices.DeleteFunc(slices.Clone(old), func(e volume.Entity) bool {
		same := func(o volume.Entity) bool { return o.EntityRef == e.EntityRef }
		return slices.ContainsFunc(set, same) || slices.ContainsFunc(remove, same)
	})
	r.volumes[id] = append(fresh, set...)
	return nil
}

func (r *records) Volume(_ context.Context, id string) (volume.Volume, error) {
	leave, err := r.enter("Volume")
	defer leave()
	if _, ok := r.volumes[id]; !ok && err == nil {
		err = volume.ErrNotFound
	}
	return volume.Volume{ID: id}, err
}

func (r *records) Adopt(_ context.Context, id, _ string, entities []volume.Entity) (volume.Volume, error) {
	leave, err := r.enter("Adopt")
	defer leave()
	switch {
	case err != nil:
		return volume.Volume{}, err
	case !r.disks[id]:
		return volume.Volume{}, volume.ErrNotFound
	}
	delete(r.disks, id)
	r.volumes[id] = entities
	return volume.Volume{ID: id, VCenter: "us", Healthy: true}, nil
}

func (r *records) Unregister(_ context.Context, id string) error {
	leave, err := r.enter("Unregister")
	defer leave()
	if err == nil && r.busy[id] {
		err = volume.ErrInUse
	}
	if _, ok := r.volumes[id]; ok && err == nil {
		delete(r.volumes, id)
		r.disks[id] = true
	}
	return err
}

// of is the record of a volume as text, sorted: "POD default/db-0 of data".
func (r *records) of(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	entities, ok := r.volumes[id]
	if !ok {
		return "no volume"
	}
	var all []string
	for _, e := range entities {
		text := strings.Trim(string(e.Kind)+" "+e.Namespace+"/"+e.Name, " ")
		for _, key := range slices.Sorted(maps.Keys(e.Labels)) {
			text += " " + key + "=" + e.Labels[key]
		}
		if e.Refers.Name != "" {
			text += " of " + e.Refers.Name
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

type rig struct {
	*records
	t       *testing.T
	k8s     *fake.Clientset
	dynamic *dynamicfake.FakeDynamicClient
}

// start runs a syncer beside a cluster with these objects until the test ends. change changes its configuration; it may be nil.
func start(t *testing.T, cns *records, period time.Duration, change func(*syncer.Config), objects ...runtime.Object) *rig {
	t.Helper()
	cns.calls = map[string]int{}
	if cns.disks == nil {
		cns.disks = map[string]bool{}
	}
	r := &rig{records: cns, t: t, k8s: fake.NewClientset(objects...)}
	r.dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{syncer.Resource(): syncer.Kind + "List"})
	cfg := syncer.Config{
		CNS: cns, Client: r.k8s, Dynamic: r.dynamic, Period: period, Delay: time.Millisecond, RetryMin: time.Millisecond, RetryMax: 20 * time.Millisecond,
	}
	if change != nil {
		change(&cfg)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- syncer.New(cfg).Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) eventually(id, want string) {
	r.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); r.of(id) != want; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("%s: %s, want %s", id, r.of(id), want)
		}
	}
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// pv is a bound PersistentVolume; dynamic ones have the mark of the provisioner.
func pv(name, id string, dynamic bool) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			ClaimRef:               &corev1.ObjectReference{Namespace: "default", Name: "data"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.vsphere.vmware.com", VolumeHandle: id}},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	}
	if dynamic {
		v.Spec.CSI.VolumeAttributes = map[string]string{"storage.kubernetes.io/csiProvisionerIdentity": "1"}
	}
	return v
}

func claim(pv string, labels map[string]string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data", Labels: labels}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: pv},
	}
}

func pod(name, node string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.PodSpec{NodeName: node, Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}}},
		Status: corev1.PodStatus{Phase: phase},
	}
}

const bound = "PERSISTENT_VOLUME /pv-1; PERSISTENT_VOLUME_CLAIM default/data of pv-1"

// Labels and pods get into the record of a volume, with their changes, and leave it with the objects.
func TestRecords(t *testing.T) {
	cns := &records{volumes: map[string][]volume.Entity{"v": volume.Metadata{PV: "pv-1", PVC: "data", Namespace: "default"}.Entities()}}
	r := start(t, cns, time.Hour, nil, pv("pv-1", "v", true), claim("pv-1", map[string]string{"app": "db"}))
	ctx, api := t.Context(), r.k8s.CoreV1()
	const labeled = "PERSISTENT_VOLUME /pv-1; PERSISTENT_VOLUME_CLAIM default/data app=db of pv-1"
	r.eventually("v", labeled)
	_, err := api.Pods("default").Create(ctx, pod("db-0", "", corev1.PodPending), metav1.CreateOptions{})
	r.must(err)
	_, err = api.Pods("default").Create(ctx, pod("job", "node", corev1.PodSucceeded), metav1.CreateOptions{})
	r.must(err)
	_, err = api.Pods("default").Update(ctx, pod("db-0", "node", corev1.PodRunning), metav1.UpdateOptions{})
	r.must(err)
	r.eventually("v", labeled+"; POD default/db-0 of data")
	_, err = api.PersistentVolumeClaims("default").Update(ctx, claim("pv-1", map[string]string{"app": "db", "added": "later"}), metav1.UpdateOptions{})
	r.must(err)
	r.eventually("v", "PERSISTENT_VOLUME /pv-1; PERSISTENT_VOLUME_CLAIM default/data added=later app=db of pv-1; POD default/db-0 of data")
	r.must(api.Pods("default").Delete(ctx, "db-0", metav1.DeleteOptions{}))
	r.must(api.PersistentVolumeClaims("default").Delete(ctx, "data", metav1.DeleteOptions{}))
	r.eventually("v", "PERSISTENT_VOLUME /pv-1")
}

// When a PersistentVolume is deleted, its volume leaves CNS and the disk stays, unless the driver deletes both, or another
// PersistentVolume names the volume. A PersistentVolume for the disk brings the volume back, even if it has the provisioner's mark.
func TestRetained(t *testing.T) {
	cns := &records{volumes: map[string][]volume.Entity{"v": nil, "deleted": nil, "named": nil, "unclaimed": nil}}
	released := pv("pv-2", "deleted", true)
	released.Status.Phase, released.Spec.PersistentVolumeReclaimPolicy = corev1.VolumeReleased, corev1.PersistentVolumeReclaimDelete
	unclaimed := pv("pv-5", "unclaimed", false)
	unclaimed.Status.Phase, unclaimed.Spec.ClaimRef, unclaimed.Spec.PersistentVolumeReclaimPolicy = corev1.VolumeAvailable, nil, corev1.PersistentVolumeReclaimDelete
	r := start(t, cns, time.Hour, nil, pv("pv-1", "v", true), claim("pv-1", nil), released, pv("pv-3", "named", false), pv("pv-4", "named", false), unclaimed)
	ctx, pvs := t.Context(), r.k8s.CoreV1().PersistentVolumes()
	for id, record := range map[string]string{
		"v": bound, "deleted": "PERSISTENT_VOLUME /pv-2", "named": "PERSISTENT_VOLUME /pv-3; PERSISTENT_VOLUME /pv-4", "unclaimed": "PERSISTENT_VOLUME /pv-5",
	} {
		r.eventually(id, record)
	}
	for _, name := range []string{"pv-2", "pv-3", "pv-5", "pv-1"} {
		r.must(pvs.Delete(ctx, name, metav1.DeleteOptions{}))
	}
	r.eventually("v", "no volume")
	r.eventually("unclaimed", "no volume")
	r.eventually("named", "PERSISTENT_VOLUME /pv-4")
	if r.of("deleted") != "PERSISTENT_VOLUME /pv-2" {
		t.Errorf("deleted by the driver: %s", r.of("deleted"))
	}
	_, err := pvs.Create(ctx, pv("pv-1", "v", true), metav1.CreateOptions{})
	r.must(err)
	_, err = r.k8s.CoreV1().Pods("default").Create(ctx, pod("db-0", "node", corev1.PodRunning), metav1.CreateOptions{})
	r.must(err)
	r.eventually("v", bound+"; POD default/db-0 of data")
}

// A volume that has no PersistentVolume at two full syncs leaves CNS, and one that is attached stays.
func TestUnused(t *testing.T) {
	cns := &records{volumes: map[string][]volume.Entity{"v": nil, "w": nil}, busy: map[string]bool{"w": true}}
	r := start(t, cns, 20*time.Millisecond, nil)
	r.eventually("v", "no volume")
	for deadline := time.Now().Add(10 * time.Second); r.called("Unregister") < 3; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not tried again")
		}
	}
	if r.of("w") != "" || !r.disks["v"] {
		t.Errorf("attached: %s; disk: %v", r.of("w"), r.disks["v"])
	}
}

// called is how often the syncer has made a call.
func (r *records) called(call string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[call]
}

// A disk that a bound PersistentVolume names becomes a volume, whenever it appears. One that the provisioner
// made, and whose disk is gone, is lost.
func TestStatic(t *testing.T) {
	cns := &records{volumes: map[string][]volume.Entity{}, disks: map[string]bool{"kept": true}}
	released := pv("pv-3", "other", false)
	released.Status.Phase = corev1.VolumeAvailable
	r := start(t, cns, time.Hour, nil, pv("pv-1", "disk", false), claim("pv-1", nil), pv("pv-2", "lost", true), pv("pv-4", "kept", true), released)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		cns.mu.Lock()
		tried := cns.calls["Adopt"] > 1
		cns.disks["disk"] = tried
		cns.mu.Unlock()
		if tried {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("not tried again")
		}
	}
	r.eventually("disk", bound)
	r.eventually("kept", "PERSISTENT_VOLUME /pv-4")
	if r.of("lost") != "no volume" || r.of("other") != "no volume" {
		t.Errorf("lost: %s, other: %s", r.of("lost"), r.of("other"))
	}
}

// A full sync corrects what another client changed, at once after a trigger. A volume without a PersistentVolume stays in CNS for half a
// period, because a new one gets it later, no matter how many full syncs are triggered.
func TestFullSync(t *testing.T) {
	cns := &records{volumes: map[string][]volume.Entity{
		"v": volume.Metadata{PV: "pv-1", PVC: "data", Namespace: "default"}.Entities(),
		"w": volume.Metadata{PV: "pv-9"}.Entities(),
	}}
	r := start(t, cns, time.Hour, nil, pv("pv-1", "v", true), claim("pv-1", nil))
	r.eventually("v", bound)
	trigger := func(number int64) {
		t.Helper()
		client := r.dynamic.Resource(syncer.Resource())
		var now *unstructured.Unstructured
		for deadline := time.Now().Add(10 * time.Second); now == nil; time.Sleep(time.Millisecond) { // the syncer creates it
			if got, err := client.Get(t.Context(), syncer.Name, metav1.GetOptions{}); err == nil {
				now = got
			} else if time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
		now.Object["spec"] = map[string]any{"triggerSyncID": number}
		_, err := client.Update(t.Context(), now, metav1.UpdateOptions{})
		r.must(err)
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(2 * time.Millisecond) {
			now, err := client.Get(t.Context(), syncer.Name, metav1.GetOptions{})
			r.must(err)
			last, _, _ := unstructured.NestedInt64(now.Object, "status", "lastTriggerSyncID")
			if done, _, _ := unstructured.NestedString(now.Object, "status", "lastSuccessfulEndTimeStamp"); last == number && done != "" {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%v", now.Object["status"])
			}
		}
	}
	if r.of("w") != "PERSISTENT_VOLUME /pv-9" {
		t.Errorf("after the first: %s", r.of("w"))
	}
	cns.mu.Lock()
	cns.volumes["v"] = nil
	cns.mu.Unlock()
	trigger(1)
	r.eventually("v", bound)
	trigger(2)
	if r.of("w") != "PERSISTENT_VOLUME /pv-9" || cns.called("Unregister") != 0 {
		t.Errorf("after three: %s", r.of("w"))
	}
}

// While CNS does not respond nothing is lost, and nothing is written twice.
func TestDown(t *testing.T) {
	cns := &records{volumes: map[string][]volume.Entity{"v": nil}, down: fmt.Errorf("down: %w", volume.ErrUnavailable)}
	r := start(t, cns, 5*time.Millisecond, nil, pv("pv-1", "v", false), claim("pv-1", nil))
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		cns.mu.Lock()
		tried := cns.calls["Records"] > 2
		if tried {
			cns.down = nil
		}
		cns.mu.Unlock()
		if tried || time.Now().After(deadline) {
			break
		}
	}
	r.eventually("v", bound)
	cns.mu.Lock()
	written, read := cns.calls["UpdateRecord"], cns.calls["Records"]
	cns.mu.Unlock()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		cns.mu.Lock()
		more := cns.calls["Records"] > read+2
		cns.mu.Unlock()
		if more {
			break
		}
	}
	cns.mu.Lock()
	defer cns.mu.Unlock()
	if cns.calls["UpdateRecord"] != written {
		t.Errorf("written %d times, then %d", written, cns.calls["UpdateRecord"])
	}
}
