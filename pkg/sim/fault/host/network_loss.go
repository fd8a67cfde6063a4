package host

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

func networkLoss() *fault.Kind {
	return one(fault.Kind{
		Name:  "host.network-loss",
		Short: "takes hosts' management network away; their VMs run on",
		Long: `vCenter shows the host as not responding and its VMs as disconnected, exactly as when it had crashed, while the nodes on
it are Ready. HA finds out through the datastores that the host is alive, and leaves it alone.`,
	}, "lose its management network; %s on it will run on, unseen", func(ctx context.Context, ep *fault.Endpoint, l *lost) error {
		return ep.Sim.IsolateHost(ctx, l.Ref)
	})
}
