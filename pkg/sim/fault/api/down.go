package api

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// down is an outage.
func down() *fault.Kind {
	return ruled(fault.Kind{
		Name:  "vcenter.down",
		Short: "takes a vCenter's API away: connections are cut, new ones refused",
		Long: `For everybody, nothing listens any more: open connections are cut and new ones
are refused. For some clients or methods only, their connections are closed
without an answer. VMs, sessions and tasks go on as if nothing were.

Kubernetes should not care while it lasts: no node may be deleted, and none may
be called shut down, because nobody can tell.`,
		Params: whose(),
		Reported: []string{
			"kubernetes#42338", "kubernetes#50465", "kubernetes#34364", "cloud-provider-vsphere#479",
		},
	}, func(fault.Values) (gate.Action, string) { return gate.Outage{}, "is not there for" })
}
