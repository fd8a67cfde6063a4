package host

import (
	"context"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

func powerOff() *fault.Kind {
	return one(fault.Kind{
		Name:  "host.power-off",
		Short: "shuts hosts down by force; their VMs die with them",
		Long: `As an administrator does it through vCenter: that knows that the host is powered off, but not what has become of its VMs,
which it shows as disconnected. Otherwise as host.crash. Healing boots the host and powers on what ran there.`,
	}, "shut down by force; %s on it will die", func(ctx context.Context, ep *fault.Endpoint, l *lost) error {
		return vsphere.Run(ctx, ep, func(ctx context.Context, c *vim25.Client) (*object.Task, error) {
			res, err := methods.ShutdownHost_Task(ctx, c, &types.ShutdownHost_Task{This: l.Ref, Force: true})
			if err != nil {
				return nil, err
			}
			return object.NewTask(c, res.Returnval), nil
		})
	})
}
