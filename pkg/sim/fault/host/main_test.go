package host_test

import (
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/snapshot"
)

const zones = "../../../../scenarios/zones-us-eu.yaml"

type world struct{ snapshot.World }

func start(t *testing.T, source string) world {
	t.Helper()
	return world{snapshot.Start(t, source)}
}

func (w world) host(vc, path string) (h mo.HostSystem) {
	w.Get(vc, w.Ref(vc, path), &h, "name", "runtime", "vm", "datastore")
	return h
}

func (w world) vm(vc, path string) (vm mo.VirtualMachine) {
	w.Get(vc, w.Ref(vc, path), &vm, "name", "runtime", "guest")
	return vm
}

// hostOf is the name of the host of a VM.
func (w world) hostOf(vc, path string) string {
	var h mo.HostSystem
	w.Get(vc, *w.vm(vc, path).Runtime.Host, &h, "name")
	return h.Name
}

func powerOff(t *testing.T, w world, vc string, vm types.ManagedObjectReference) {
	t.Helper()
	task, err := object.NewVirtualMachine(w.Client(vc).Client, vm).PowerOff(t.Context())
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func unregister(t *testing.T, w world, vc string, vm types.ManagedObjectReference) {
	t.Helper()
	if err := object.NewVirtualMachine(w.Client(vc).Client, vm).Unregister(t.Context()); err != nil {
		t.Fatal(err)
	}
}
