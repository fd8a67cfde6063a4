package csiupstream

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// TestTwoVCenters: each volume is made by the vCenter that has its zone, on a datastore of that zone, and stays there.
func TestTwoVCenters(t *testing.T) {
	root, err := program.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "scenarios", "zones-us-eu.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, string(text))
	for _, zone := range []struct{ region, zone, vcenter, datastore, node string }{
		{"us", "us-west", "us", "dcwest-ds", "worker-west-1"},
		{"us", "us-east", "us", "dceast-ds", "worker-east-1"},
		{"eu", "eu-all", "eu", "dceu-ds", "worker-eu-2"},
	} {
		t.Run(zone.zone, func(t *testing.T) {
			v := w.create(volumeRequest("pvc-"+zone.zone, gib, within(zone.region, zone.zone)))
			if on := w.datastore(zone.vcenter, v.VolumeId); on != zone.datastore {
				t.Errorf("the volume is on %s, want %s", on, zone.datastore)
			}
			m := w.Machine(zone.node)
			uuid := w.mustAttach(v.VolumeId, m)
			if got := w.disks(m)[v.VolumeId].uuid; got != uuid {
				t.Errorf("the VM's disk is %s, want %s", got, uuid)
			}
			if err := w.expand(v.VolumeId, 2*gib); err != nil {
				t.Error(err)
			}
			s := w.snapshot(v.VolumeId, "snapshot-"+zone.zone)
			w.deleteSnapshot(s.SnapshotId)
			w.detach(v.VolumeId, m)
			w.mustDelete(v.VolumeId)
		})
	}
}
