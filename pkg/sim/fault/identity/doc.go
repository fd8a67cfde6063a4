// Package identity has the faults of a VM's identity: its BIOS UUID, which identifies nodes, and a hostname that two VMs share.
// It never touches the instance UUID, which identifies VMs within vCenter.
//
// Floor 2, inside pkg/sim.
package identity

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"

// Kinds returns all kinds of the package.
func Kinds() []*fault.Kind {
	return []*fault.Kind{
		uuidBlank(), uuidSwapped(), uuidChanged(), uuidDuplicate(), uuidDuplicateVCenter(), hostnameDuplicate(),
	}
}
