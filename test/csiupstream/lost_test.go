package csiupstream

import (
	"testing"
)

// TestLostVM: volumes of VMs that are off or gone come away, and go to others with the same disk.
func TestLostVM(t *testing.T) {
	w := start(t, oneVCenter)
	a1, a2, b1 := w.Machine("worker-a-1"), w.Machine("worker-a-2"), w.Machine("worker-b-1")
	v := w.create(volumeRequest("pvc-1", gib, within("us", "zone-a")))
	uuid := w.mustAttach(v.VolumeId, a1)
	if err := a1.PowerOff(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, still := w.disks(a1)[v.VolumeId]; !still {
		t.Error("power-off took the disk away")
	}
	w.detach(v.VolumeId, a1)
	if len(w.disks(a1)) > 0 {
		t.Error("a VM that is off keeps the disk")
	}
	if got := w.mustAttach(v.VolumeId, a2); got != uuid {
		t.Errorf("on another VM it is disk %s, was %s", got, uuid)
	}

	if err := a2.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.volume("vc", v.VolumeId) == nil {
		t.Fatal("the volume went with its VM")
	}
	w.detach(v.VolumeId, a2)
	w.detach(v.VolumeId, a2)
	if err := a1.PowerOn(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.mustAttach(v.VolumeId, a1); got != uuid {
		t.Errorf("after the VM it is disk %s, was %s", got, uuid)
	}
	w.detach(v.VolumeId, a1)
	w.mustDelete(v.VolumeId)

	// A VM cannot reach the datastore of another zone.
	far := w.create(volumeRequest("pvc-2", gib, within("us", "zone-a")))
	if _, err := w.attach(far.VolumeId, b1); err == nil {
		t.Error("a volume of zone-a was attached in zone-b")
	}
	w.mustDelete(far.VolumeId)
}
