package storage_test

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/faulttest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/storage"
)

// TestVolumeIsDetached: CNS knows of a volume that is detached behind its back, and of its coming back.
func TestVolumeIsDetached(t *testing.T) {
	w := start(t)
	id, err := w.createVolume("pvc")
	if err == nil {
		err = w.attachVolume(id)
	}
	if err != nil {
		t.Fatal(err)
	}
	vc, _ := w.VCenter("us")
	before, _ := vc.Volume(id.Id)
	lease := w.Inject(t, storage.Kinds(), fault.Request{
		Kind: "disk.detached", On: faulttest.On("worker-east-1"), Params: map[string]string{"disk": id.Id},
	})
	if v, _ := vc.Volume(id.Id); v.VMName != "" {
		t.Errorf("on VM %s", v.VMName)
	}
	w.is(new(types.NotFound), w.detachVolume(id))
	w.Heal(t, lease.ID)
	if v, _ := vc.Volume(id.Id); v.VM != before.VM || v.Controller != before.Controller || v.Unit != before.Unit {
		t.Errorf("on %v, at %d:%d; was on %v, at %d:%d", v.VM, v.Controller, v.Unit, before.VM, before.Controller, before.Unit)
	}
	if err := w.detachVolume(id); err != nil {
		t.Error(err)
	}
}
