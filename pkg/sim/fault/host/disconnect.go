package host

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

func disconnect() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "host.disconnect",
		Short: "disconnects vCenter from hosts, as an administrator does; their VMs run on",
		Long: `vCenter shows the host and its VMs as disconnected and refuses to change them. The nodes on it are Ready, and the cloud
provider must not take them for gone.`,
		Object: fault.Host, Touches: "host",
	}, fault.Steps[struct{}]{
		Plan: func(ctx context.Context, c *fault.Call) (none struct{}, _ string, _ error) {
			ep, err := vsphere.At(c)
			if err != nil {
				return none, "", err
			}
			h, on, err := look(ctx, ep, c.Target.Ref)
			if err != nil {
				return none, "", err
			}
			return none, fmt.Sprintf("disconnect; %s on it will run on, unseen", count(len(on))), inOrder(h)
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *struct{}) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			defer vsphere.Causing(c, ep, c.Target.Ref)()
			return vsphere.Run(ctx, ep, func(ctx context.Context, vc *vim25.Client) (*object.Task, error) {
				return object.NewHostSystem(vc, c.Target.Ref).Disconnect(ctx)
			})
		},
		Revert: func(ctx context.Context, c *fault.Call, _ *struct{}) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			var h mo.HostSystem
			if err := vsphere.Get(ctx, ep, c.Target.Ref, &h, "runtime"); vsphere.Gone(err) {
				return nil
			} else if err != nil {
				return err
			}
			if h.Runtime.ConnectionState != types.HostSystemConnectionStateDisconnected {
				return nil
			}
			defer vsphere.Causing(c, ep, c.Target.Ref)()
			return vsphere.Run(ctx, ep, func(ctx context.Context, vc *vim25.Client) (*object.Task, error) {
				return object.NewHostSystem(vc, c.Target.Ref).Reconnect(ctx, nil, nil)
			})
		},
	})
}
