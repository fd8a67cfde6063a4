package syncer_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/syncer"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// health is what a claim is annotated with, once it is as wanted.
func (r *rig) health(want string) *corev1.PersistentVolumeClaim {
	r.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		c, err := r.k8s.CoreV1().PersistentVolumeClaims("default").Get(r.t.Context(), "data", metav1.GetOptions{})
		r.must(err)
		if c.Annotations[names.HealthAnnotation] == want {
			return c
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("annotations are %v, want %s", c.Annotations, want)
		}
	}
}

// reads returns when the records have been read so many times more.
func (r *rig) reads(more int) {
	r.t.Helper()
	calls := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.calls["Records"]
	}
	before, deadline := calls(), time.Now().Add(10*time.Second)
	for ; calls() < before+more; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatal("the health is not read again")
		}
	}
}

// patches counts the writes of claims.
func (r *rig) patches() (n int) {
	for _, a := range r.k8s.Actions() {
		if a.Matches("patch", "persistentvolumeclaims") {
			n++
		}
	}
	return n
}

// A claim has the health of its volume, with the time of the last change, and is written for a change only. What CNS does not know
// leaves it as it is, and so does a vCenter that does not respond; a volume that CNS has lost is inaccessible.
func TestHealth(t *testing.T) {
	record := volume.Metadata{PV: "pv-1", PVC: "data", Namespace: "default"}.Entities()
	cns := &records{volumes: map[string][]volume.Entity{"v": record}}
	r := start(t, cns, time.Hour, func(c *syncer.Config) { c.HealthPeriod = 5 * time.Millisecond }, pv("pv-1", "v", true), claim("pv-1", nil))
	set := func(change func()) {
		cns.mu.Lock()
		defer cns.mu.Unlock()
		change()
	}
	first := r.health(names.Accessible).Annotations[names.HealthTimestampAnnotation]
	if at, err := time.Parse(time.UnixDate, first); err != nil || time.Since(at) > time.Minute {
		t.Errorf("timestamp %q: %v", first, err)
	}
	r.reads(3)
	if n := r.patches(); n != 1 {
		t.Errorf("%d patches", n)
	}
	set(func() { cns.sick = map[string]bool{"v": true} })
	r.health(names.Inaccessible)
	set(func() { cns.sick, cns.unknown = nil, map[string]bool{"v": true} })
	r.reads(3)
	r.health(names.Inaccessible)
	set(func() { cns.unknown = nil })
	r.health(names.Accessible)
	set(func() { cns.down = volume.ErrUnavailable })
	r.reads(3)
	set(func() { cns.down = nil })
	r.health(names.Accessible)
	set(func() { delete(cns.volumes, "v") })
	r.health(names.Inaccessible)
	if n := r.patches(); n != 4 {
		t.Errorf("%d patches", n)
	}
}

// An existing disk is not inaccessible before it is registered, and has its health right after that.
func TestHealthOfDisk(t *testing.T) {
	cns := &records{volumes: map[string][]volume.Entity{}, disks: map[string]bool{}}
	r := start(t, cns, time.Hour, func(c *syncer.Config) { c.HealthPeriod = 5 * time.Millisecond }, pv("pv-1", "disk", false), claim("pv-1", nil))
	r.reads(3)
	r.health("")
	cns.mu.Lock()
	cns.disks["disk"] = true
	cns.mu.Unlock()
	r.health(names.Accessible)
	if n := r.patches(); n != 1 {
		t.Errorf("%d patches", n)
	}
}

// A datastore that is lost makes the health be read at once, and so does one that comes back. Without a period, nothing is read.
func TestHealthOfDatastore(t *testing.T) {
	lost := make(chan struct{}, 1)
	cns := &records{volumes: map[string][]volume.Entity{"v": nil}}
	r := start(t, cns, time.Hour, func(c *syncer.Config) { c.HealthPeriod, c.Datastores = time.Hour, lost }, pv("pv-1", "v", true), claim("pv-1", nil))
	r.health(names.Accessible)
	for _, want := range []string{names.Inaccessible, names.Accessible} {
		cns.mu.Lock()
		cns.sick = map[string]bool{"v": want == names.Inaccessible}
		cns.mu.Unlock()
		lost <- struct{}{}
		r.health(want)
	}

	none := make(chan struct{})
	cns = &records{volumes: map[string][]volume.Entity{"v": nil}}
	r = start(t, cns, time.Hour, func(c *syncer.Config) { c.Datastores = none }, pv("pv-1", "v", true), claim("pv-1", nil))
	r.eventually("v", bound)
	none <- struct{}{}
	none <- struct{}{} // the first was handled
	r.health("")
	cns.mu.Lock()
	defer cns.mu.Unlock()
	if n := cns.calls["Records"]; n != 1 {
		t.Errorf("read %d times", n)
	}
}
