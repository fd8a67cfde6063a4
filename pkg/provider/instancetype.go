package provider

import (
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// instanceType describes a VM's size and guest the way upstream does, memory in whole GB rounded down:
// "vsphere-vm.cpu-4.mem-8gb.os-ubuntu".
func instanceType(vm *inventory.VM) string {
	return fmt.Sprintf("vsphere-vm.cpu-%d.mem-%dgb.os-%s", vm.NumCPU, vm.MemoryMB/1024, guestOS(vm.GuestID))
}
