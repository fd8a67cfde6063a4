package sim_test

import (
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// TestRegisterClone: a VM that was cloned from a template, and unregistered, comes back with its files.
func TestRegisterClone(t *testing.T) {
	s := start(t, zones, nil)
	c := s.login(t, s.vcenter(t, "vc-us"))
	source := vm(t, c, "/americas/dcwest/vm/k8s/worker-1")
	folder := object.NewFolder(c.Client, ref(t, c, "/americas/dcwest/vm"))
	pool := object.NewResourcePool(c.Client, ref(t, c, "/americas/dcwest/host/c1/Resources"))
	must(t)(source.PowerOff(t.Context()))
	if err := source.MarkAsTemplate(t.Context()); err != nil {
		t.Fatal(err)
	}
	poolRef := pool.Reference()
	must(t)(source.Clone(t.Context(), folder, "copy", types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{Pool: &poolRef},
	}))
	copied := vm(t, c, "/americas/dcwest/vm/copy")
	var before mo.VirtualMachine
	get(t, c, copied.Reference(), &before, "config")
	if err := copied.Unregister(t.Context()); err != nil {
		t.Fatal(err)
	}
	must(t)(folder.RegisterVM(t.Context(), before.Config.Files.VmPathName, "", false, pool, nil))
	var after mo.VirtualMachine
	get(t, c, ref(t, c, "/americas/dcwest/vm/copy"), &after, "config")
	if after.Config.Uuid != before.Config.Uuid || len(after.Config.Hardware.Device) != len(before.Config.Hardware.Device) {
		t.Errorf("it returns as %s with %d devices, was %s with %d", after.Config.Uuid, len(after.Config.Hardware.Device),
			before.Config.Uuid, len(before.Config.Hardware.Device))
	}
}
