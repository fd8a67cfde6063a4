package corrections

import (
	"fmt"
	"sync"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

func TestFindChild(t *testing.T) {
	v := start(t)
	index := object.NewSearchIndex(v.client)
	for _, c := range [][3]string{
		{"/F0/DC0", "vm", "/F0/DC0/vm"},
		{"/F0/DC0/vm", "F0", "/F0/DC0/vm/F0"},
		{"/F0/DC0/vm/F0", "DC0_H0_VM0", "/F0/DC0/vm/F0/DC0_H0_VM0"},
		{"/F0/DC0/network", "VM Network", "/F0/DC0/network/VM Network"},
		{"/F0/DC0/network/F0", "DVS0", "/F0/DC0/network/F0/DVS0"},
		{"/F0/DC0/host/F0/DC0_C0", "DC0_C0_H1", "/F0/DC0/host/F0/DC0_C0/DC0_C0_H1"},
		{"/F0/DC0/host/F0/DC0_C0", "Resources", "/F0/DC0/host/F0/DC0_C0/Resources"},
		{"/F0/DC0/host/F0/DC0_C0/Resources", "DC0_C0_RP1", "/F0/DC0/host/F0/DC0_C0/Resources/DC0_C0_RP1"},
		{"/F0/DC0/vm", "f0", ""},
	} {
		found, err := index.FindChild(t.Context(), v.ref(c[0]), c[1])
		switch {
		case err != nil:
			t.Errorf("%s in %s: %v", c[1], c[0], err)
		case c[2] == "" && found != nil, c[2] != "" && (found == nil || found.Reference() != v.ref(c[2])):
			t.Errorf("%s in %s is %v, want %q", c[1], c[0], found, c[2])
		}
	}
	if _, err := index.FindChild(t.Context(), types.ManagedObjectReference{Type: "Folder", Value: "none"}, "x"); err == nil {
		t.Error("found something in nothing")
	}
}

// TestFindChildWhileVMsAreMade: one that has no name yet is passed over.
func TestFindChildWhileVMsAreMade(t *testing.T) {
	v := start(t)
	folder, pool := v.ref("/F0/DC0/vm/F0"), v.ref("/F0/DC0/host/F0/DC0_C0/Resources")
	index := object.NewSearchIndex(v.client)
	var looking sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		looking.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := index.FindChild(t.Context(), folder, "new-0"); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for n := range 30 {
		err := finish(t.Context(), func() (*object.Task, error) {
			return object.NewFolder(v.client, folder).CreateVM(t.Context(), types.VirtualMachineConfigSpec{
				Name: fmt.Sprintf("new-%d", n), Files: &types.VirtualMachineFileInfo{VmPathName: "[LocalDS_0]"},
			}, object.NewResourcePool(v.client, pool), nil)
		})
		if err != nil {
			t.Error(err)
		}
	}
	close(done)
	looking.Wait()
	if found, err := index.FindChild(t.Context(), folder, "new-29"); err != nil || found == nil {
		t.Errorf("%v, %v", found, err)
	}
}
