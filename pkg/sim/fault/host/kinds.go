package host

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"

// Kinds are the faults of hosts, in the order of the catalogue.
func Kinds() []*fault.Kind {
	return []*fault.Kind{
		crash(), powerOff(), networkLoss(), disconnect(), maintenance(),
		clusterOutage(), zoneOutage(), datacenterOutage(),
		vmDisconnected(), vmInaccessible(), vmOrphaned(),
	}
}
