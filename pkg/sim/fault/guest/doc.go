// Package guest has the faults of what runs inside VMs, as far as VMware Tools tell: names and addresses that are missing,
// wrong, or in another form than a cloud provider expects.
//
// What a guest reports is rewritten, until it is healed, on its way to vSphere: the guest itself, and its node, stay as they
// are, whatever happens to the VM's power meanwhile. Faults of the name and faults of the addresses go together.
//
// Floor 2, inside pkg/sim.
package guest

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"

// Kinds are all kinds of the package.
func Kinds() []*fault.Kind {
	return []*fault.Kind{
		toolsStopped(), hostnameEmpty(), hostnameCase(), hostnameFQDN(), hostnameShort(), hostnameWrong(),
		ipChanged(), ipRemoved(), ipv6Only(), linkLocalOnly(), nicOrder(), pseudoNICs(), nicInfoEmpty(),
	}
}

// What leases of this package exclude each other by.
const (
	touchesTools     = "tools"
	touchesHostname  = "hostname"
	touchesAddresses = "addresses"
)
