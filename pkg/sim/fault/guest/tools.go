package guest

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/machine"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
)

func toolsStopped() *fault.Kind {
	return rewrite(fault.Kind{
		Name: "guest.tools-stopped", Touches: touchesTools,
		Short: "stops VMware Tools: hostname, addresses and heartbeat vanish",
		Long: "The guest runs on, and so does its node; vSphere has nothing to say of it but that it is powered on. " +
			"The addresses of a node must not vanish with it, and it must not be deleted. Healing starts the tools.",
		Reported: []string{"cloud-provider-vsphere#398", "cloud-provider-vsphere#383", "cloud-provider-vsphere#202"},
	}, func(_ *fault.Call, _ *machine.VM, _ guest.Info) (string, change, error) {
		return "stop VMware Tools", func(guest.Report) guest.Report { return guest.Report{} }, nil
	})
}

func nicInfoEmpty() *fault.Kind {
	return rewrite(fault.Kind{
		Name: "guest.nic-info-empty", Touches: touchesAddresses,
		Short: "empties the list of NICs (guest.net), with the hostname still there",
		Long: "VMware Tools run and tell the hostname and one address (guest.ipAddress), but no NICs, as seen on Windows. " +
			"A node that is registered meanwhile keeps its taint until the NICs are told.",
		Reported: []string{"cloud-provider-vsphere#772"},
	}, func(_ *fault.Call, _ *machine.VM, _ guest.Info) (string, change, error) {
		return "report no NICs", func(r guest.Report) guest.Report {
			r.NICs = nil
			return r
		}, nil
	})
}
