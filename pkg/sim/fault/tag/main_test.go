package tag_test

import (
	"testing"

	"github.com/vmware/govmomi/object"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/snapshot"
)

// destroy deletes a VM.
func destroy(t *testing.T, w snapshot.World, path string) {
	t.Helper()
	vm := object.NewVirtualMachine(w.Client("vc").Client, w.Ref("vc", path))
	task, err := vm.PowerOff(t.Context())
	if err == nil {
		_ = task.Wait(t.Context()) // it may be off
	}
	if task, err = vm.Destroy(t.Context()); err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}
