// Package vm has the faults of virtual machines: their power, their placement, and whether they exist.
//
// A VM of the sandbox is a process, the node's kubelet, which follows the VM: what happens to the VM through the vSphere API
// happens to the node. Package guest has the faults of its guest's reports, package identity those of its identity.
//
// Floor 2, inside pkg/sim.
package vm

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"

// Kinds returns all kinds of the package.
func Kinds() []*fault.Kind {
	return []*fault.Kind{
		powerOff(), guestShutdown(), suspend(), reset(), crashLoop(), hang(), networkLoss(),
		destroy(), unregister(), recreate(), move(), template(), cloneSameUUID(), slowBoot(), rename(),
	}
}
