package property

import (
	"strconv"
	"testing"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

func newVM(i int) *simulator.VirtualMachine {
	vm := new(simulator.VirtualMachine)
	vm.Self.Type, vm.Self.Value = "VirtualMachine", "vm-"+strconv.Itoa(i)
	return vm
}

func TestNewbornsAreBounded(t *testing.T) {
	var n newborns
	parent := types.ManagedObjectReference{Type: "Folder", Value: "group-1"}
	for i := range 10 * maxNewborns {
		vm := newVM(i)
		vm.Parent = &parent
		n.put(vm)
	}
	if len(n.parents) > 2*maxNewborns || len(n.order) > 2*maxNewborns {
		t.Errorf("%d parents, %d in order", len(n.parents), len(n.order))
	}
}
