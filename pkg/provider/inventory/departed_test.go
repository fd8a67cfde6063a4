package inventory

import (
	"fmt"
	"testing"

	"github.com/vmware/govmomi/vim25/types"
)

// Configurations may be reloaded any number of times: the references of VMs that left stay within their bounds, and those of
// present VMs are recorded once.
func TestRememberBounded(t *testing.T) {
	uuidOf := func(i int) UUID { return UUID{0: 1, 14: byte(i >> 8), 15: byte(i)} }
	vmAt := func(u UUID, ref string) *VM {
		return &VM{Ref: types.ManagedObjectReference{Type: "VirtualMachine", Value: ref}, UUID: u}
	}
	x := newIndex()
	for i := range maxDeparted - 1 {
		x.departed.add(vmAt(uuidOf(i), fmt.Sprintf("vm-%d", i)))
	}
	there := UUID{0: 2}
	for i := range 2 * maxDepartedRef { // several VMs with one UUID
		x.put(vmAt(there, fmt.Sprintf("vm-there-%d", i)))
	}
	for i := range 100 {
		x.put(vmAt(UUID{0: 3, 15: byte(i)}, fmt.Sprintf("vm-also-%d", i)))
	}
	for round := range 4 { // reloads with another client, each after VMs left before the index was in sync
		for i := range 100 {
			x.put(vmAt(UUID{0: 4, 14: byte(round), 15: byte(i)}, fmt.Sprintf("vm-leaves-%d-%d", round, i)))
		}
		next := newIndex()
		next.remember(x)
		if n := len(next.departed); n > maxDeparted+len(x.vms) {
			t.Errorf("%d UUIDs", n)
		}
		for u, refs := range next.departed {
			if len(refs) > maxDepartedRef {
				t.Errorf("%d references of %s", len(refs), u)
			}
		}
		for _, vm := range x.vms { // now in sync
			if vm.UUID[0] != 4 {
				next.put(vm)
			}
		}
		if refs := next.departed[UUID{0: 3, 15: 1}]; len(refs) != 0 {
			t.Errorf("remembered though it is there: %v", refs)
		}
		x = next
	}
	// The references of present VMs have priority.
	next := newIndex()
	next.remember(x)
	for i := range 100 {
		if len(next.departed[UUID{0: 3, 15: byte(i)}]) != 1 {
			t.Fatalf("a VM that is there is forgotten")
		}
	}
}
