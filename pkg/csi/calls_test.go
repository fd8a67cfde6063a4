package csi_test

import (
	"fmt"
	"sync"
	"testing"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi"
)

// calls are the engine's calls to a vCenter, by method, without the long polls.
func (w *world) calls(t *testing.T, vcenter string) map[string]int {
	v, ok := w.sim.VCenter(vcenter)
	if !ok {
		t.Fatal("no vCenter " + vcenter)
	}
	made := map[string]int{}
	for _, s := range v.Gate().Stats() {
		if s.Client == csi.UserAgent && s.Method != "WaitForUpdatesEx" {
			made[s.Method] += int(s.Calls)
		}
	}
	return made
}

// Fifty volumes are created and attached at once, to two VMs, with few calls each: known data are not read again.
func TestManyAtOnce(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	const n = 50
	volumes := make([]*csiapi.Volume, n)
	each := func(f func(i int) error) {
		t.Helper()
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				if err := f(i); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	node := func(i int) string { return []string{us1, us2}[i/(n-10)] } // forty on one
	each(func(i int) (err error) {
		volumes[i], err = w.volume(ctx, fmt.Sprint("pvc-", i), "us", []string{"us-west", "us-east"}[i/(n-10)])
		return err
	})
	if t.Failed() {
		return
	}
	before := w.calls(t, "us")
	each(func(i int) error { return w.publish(ctx, volumes[i].GetVolumeId(), node(i)) })
	sum := 0
	for method, count := range w.calls(t, "us") {
		if made := count - before[method]; made > 0 {
			t.Logf("%s: %d", method, made)
			sum += made
		}
	}
	if sum > 3*n {
		t.Errorf("%d calls for %d attaches", sum, n)
	}
	list, err := w.Controller.ListVolumes(ctx, &csiapi.ListVolumesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	on := map[string]int{}
	for _, e := range list.GetEntries() {
		for _, id := range e.GetStatus().GetPublishedNodeIds() {
			on[id]++
		}
	}
	if on[us1] != n-10 || on[us2] != 10 {
		t.Errorf("attached: %v", on)
	}
	each(func(i int) error {
		_, err := w.Controller.ControllerUnpublishVolume(ctx, &csiapi.ControllerUnpublishVolumeRequest{VolumeId: volumes[i].GetVolumeId(), NodeId: node(i)})
		return err
	})
	each(func(i int) error {
		_, err := w.Controller.DeleteVolume(ctx, &csiapi.DeleteVolumeRequest{VolumeId: volumes[i].GetVolumeId()})
		return err
	})
	v, _ := w.sim.VCenter("us")
	if all := v.Volumes(); len(all) != 0 {
		t.Errorf("%d volumes are left", len(all))
	}
}
