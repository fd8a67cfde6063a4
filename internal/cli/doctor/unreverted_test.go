package doctor

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
)

// TestUnreverted reports a dead sandbox that has unreverted changes of a real VM.
func TestUnreverted(t *testing.T) {
	root := t.TempDir()
	j, err := journal.Open(filepath.Join(root, "lab.writes.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	e := journal.Entry{
		VCenter: "vc", Ref: types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}, VM: "/dc/vm/vm-1",
		Do: journal.Action{Kind: "reset"}, Undo: journal.Action{Kind: "nothing"},
	}
	if err := errors.Join(j.Write(t.Context(), e, func(context.Context) error { return nil }), j.Close()); err != nil {
		t.Fatal(err)
	}
	want := finding{Verdict: warn, Message: `sandbox "lab" has left 1 writes to real VMs`, Try: "vsphere-sandbox down --name lab"}
	if diff := cmp.Diff(want, leftovers(t.Context(), &options{sandboxes: &clitest.Sandboxes{Dir: root}})); diff != "" {
		t.Error(diff)
	}
}
