package metrics

import (
	providermetrics "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
)

// VCenter is the state of one vCenter.
type VCenter struct {
	// Name is its name in the configuration.
	Name string
	// Connected says that there is a session that works.
	Connected bool
	// Synced says that it is known which VMs, hosts and datastores there are.
	Synced bool
}

// states are the families that there are of a vCenter.
func states() []providermetrics.State[VCenter] {
	return []providermetrics.State[VCenter]{
		{
			Name: "vcenter_connected", Help: "Whether there is a session at the vCenter that works (1) or not (0).",
			Value: func(v VCenter) (float64, bool) { return providermetrics.Number(v.Connected), true },
		},
		{
			Name: "vcenter_synced", Help: "Whether it is known which VMs, hosts and datastores the vCenter has (1) or not (0).",
			Value: func(v VCenter) (float64, bool) { return providermetrics.Number(v.Synced), true },
		},
	}
}
