// Package guest has the faults of what VMware Tools report from inside VMs: names and addresses that are missing, wrong, or in
// another form than a cloud provider expects.
//
// Until it is healed, a fault rewrites the guest's report on its way to vSphere. The guest and its node stay as they are, and the
// VM's power may change. Faults of the name and faults of the addresses can be combined.
//
// Floor 2, inside pkg/sim.
package guest

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"

// Kinds returns all kinds of the package.
func Kinds() []*fault.Kind {
	return []*fault.Kind{
		toolsStopped(), hostnameEmpty(), hostnameCase(), hostnameFQDN(), hostnameShort(), hostnameWrong(),
		ipChanged(), ipRemoved(), ipv6Only(), linkLocalOnly(), nicOrder(), pseudoNICs(), nicInfoEmpty(),
	}
}

// The aspects by which leases of this package exclude each other.
const (
	touchesTools     = "tools"
	touchesHostname  = "hostname"
	touchesAddresses = "addresses"
)
