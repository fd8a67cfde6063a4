package csiupstream

import (
	"context"
	"fmt"
	"slices"
	"testing"

	cnstypes "github.com/vmware/govmomi/cns/types"
)

// TestCluster: the same life cycle through Kubernetes' objects and the stock sidecars, with a full sync every minute.
// What the driver lists agrees with what is attached, so that the attacher does nothing again; the driver reports PV and
// PVC to CNS.
func TestCluster(t *testing.T) {
	w := start(t, oneVCenter, "FULL_SYNC_INTERVAL_MINUTES=1")
	w.sidecars()
	w.class("zone-b", "zone-b")
	b1, b2 := w.Machine("worker-b-1"), w.Machine("worker-b-2")

	pv := w.claim("data", "zone-b", "1Gi", "")
	id := pv.Spec.CSI.VolumeHandle
	if on := w.datastore("vc", id); on != "zone-b-ds" {
		t.Errorf("the volume of zone-b is on %s", on)
	}
	disk := w.attachment("one", pv, b1)
	if got := w.disks(b1)[id]; got.uuid != disk || got.bytes != gib || !got.scsi {
		t.Errorf("disk of worker-b-1 is %+v, want %s", got, disk)
	}
	w.await("CNS knows PV and PVC", func(context.Context) error { return known(w.volume("vc", id), pv.Name, "data") })

	w.grow("data", pv, "2Gi")
	if got := w.disks(b1)[id].bytes; got != 2*gib {
		t.Errorf("the VM's disk has %d bytes after the expansion", got)
	}
	w.takeSnapshot("before", "data")
	restored := w.claim("copy", "zone-b", "2Gi", "before")
	if got := w.volume("vc", restored.Spec.CSI.VolumeHandle); got == nil || got.BackingObjectDetails.GetCnsBackingObjectDetails().CapacityInMb != 2048 {
		t.Errorf("what was restored is %+v", got)
	}
	w.attachment("two", restored, b1)
	w.await("CNS knows the copy's PV and PVC", func(context.Context) error {
		return known(w.volume("vc", restored.Spec.CSI.VolumeHandle), restored.Name, "copy")
	})

	// Five seconds later the syncer reports to CNS again what it saw change.
	w.settle("CnsUpdateVolumeMetadata")
	w.quiet()
	if err := known(w.volume("vc", id), pv.Name, "data"); err != nil {
		t.Errorf("after full syncs: %v", err)
	}

	w.detachment("one")
	if _, still := w.disks(b1)[id]; still {
		t.Error("the VM still has the disk")
	}
	if again := w.attachment("three", pv, b2); again != disk {
		t.Errorf("on another VM it is disk %s, was %s", again, disk)
	}
	w.detachment("two")
	w.detachment("three")
	w.dropSnapshot("before")
	w.drop("data", pv)
	w.drop("copy", restored)
	for _, handle := range []string{id, restored.Spec.CSI.VolumeHandle} {
		if w.volume("vc", handle) != nil {
			t.Errorf("CNS still has volume %s", handle)
		}
	}
}

// known returns an error for the first object that uses a volume and is missing in CNS.
func known(v *cnstypes.CnsVolume, pv, pvc string) error {
	if v == nil {
		return fmt.Errorf("there is no such volume")
	}
	if c := v.Metadata.ContainerCluster.ClusterId; c != clusterID {
		return fmt.Errorf("its cluster is %q", c)
	}
	want := []string{string(cnstypes.CnsKubernetesEntityTypePV) + " " + pv, string(cnstypes.CnsKubernetesEntityTypePVC) + " " + pvc}
	var got []string
	for _, e := range v.Metadata.EntityMetadata {
		if k, ok := e.(*cnstypes.CnsKubernetesEntityMetadata); ok {
			got = append(got, k.EntityType+" "+k.EntityName)
		}
	}
	for _, one := range want {
		if !slices.Contains(got, one) {
			return fmt.Errorf("it is used by %q, want %q", got, want)
		}
	}
	return nil
}
