package api

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// blackHole is a network that swallows.
func blackHole() *fault.Kind {
	return ruled(fault.Kind{
		Name:  "vcenter.black-hole",
		Short: "swallows calls to a vCenter: nothing answers, nothing refuses",
		Long: `As behind a firewall that drops packets: connections stay open and silent until
the client gives up or the fault heals, and are reset then. What was called never
reaches the vCenter. For everybody, new connections do not even get a TLS
handshake.

A client without timeouts hangs, and with it all that waits for its locks:
upstream's cloud provider has one lock for the connections to all vCenters.`,
		Params: whose(),
	}, func(fault.Values) (gate.Action, string) { return gate.BlackHole{}, "swallows the calls of" })
}

// hang is a vCenter that stops in the midst of its work.
func hang() *fault.Kind {
	return ruled(fault.Kind{
		Name:  "vcenter.hang",
		Short: "holds a vCenter's answers back until the fault heals",
		Long: `Connections are accepted and requests are read, but no answer comes, not even to
those that were under way. When the fault heals, every client that is still there
gets its answer, as after a long pause of the vCenter's process.`,
		Params: whose(),
	}, func(fault.Values) (gate.Action, string) { return gate.Hang{}, "holds back answers to" })
}
