package inventory

import (
	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
)

// Adopt readies a VM that was put together elsewhere, and not by vcsim's CreateVM, for vcsim's operations. It is not in
// the registry yet, or the registry does not serve.
func Adopt(vm *simulator.VirtualMachine) error {
	id, err := uuid.Parse(vm.Config.Uuid)
	if err != nil {
		id = uuid.NewSHA1(uuid.NameSpaceOID, []byte(vm.Self.Value))
	}
	return fill(vm, id)
}
