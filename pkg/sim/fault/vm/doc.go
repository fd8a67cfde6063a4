// Package vm has the faults of virtual machines: their power, their place, and whether they exist at all.
//
// A VM of the sandbox is a process, the node's kubelet, that follows the VM: what happens here to the VM by the vSphere
// API happens to the node. What its guest reports is package guest, who it says it is package identity.
//
// Floor 2, inside pkg/sim.
package vm

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"

// Kinds are all kinds of the package.
func Kinds() []*fault.Kind {
	return []*fault.Kind{
		powerOff(), guestShutdown(), suspend(), reset(), crashLoop(), hang(), networkLoss(),
		destroy(), unregister(), recreate(), move(), template(), cloneSameUUID(), slowBoot(), rename(),
	}
}
