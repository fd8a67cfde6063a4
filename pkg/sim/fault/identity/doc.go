// Package identity has the faults of who a VM says it is: its BIOS UUID, by which nodes are known, and the hostname that
// it shares with another one. The instance UUID, by which vCenter knows its VMs, is never touched.
//
// Floor 2, inside pkg/sim.
package identity

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"

// Kinds are all kinds of the package.
func Kinds() []*fault.Kind {
	return []*fault.Kind{
		uuidBlank(), uuidSwapped(), uuidChanged(), uuidDuplicate(), uuidDuplicateVCenter(), hostnameDuplicate(),
	}
}
