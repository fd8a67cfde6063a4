package storage

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/units"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

func full() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "datastore.full",
		Short: "leaves no space on datastores: creating, cloning and extending fails",
		Long: `VMs, disks, snapshots and volumes cannot be made there or grow: their tasks end in NoDiskSpace. What there is runs on.
Healing frees what was free.`,
		Object: fault.Datastore, Needs: []fault.Need{fault.Simulator}, Touches: "space",
		Reported: []string{"vsphere-csi-driver#2169"},
	}, fault.Steps[struct{}]{
		Plan: func(ctx context.Context, c *fault.Call) (none struct{}, _ string, _ error) {
			ep, err := vsphere.At(c)
			if err != nil {
				return none, "", err
			}
			var ds mo.Datastore
			if err := vsphere.Get(ctx, ep, c.Target.Ref, &ds, "summary"); err != nil {
				return none, "", err
			}
			if ds.Summary.FreeSpace <= 0 {
				return none, "", fault.Refuse("datastore %q: has no space left as it is", c.Target.Name)
			}
			return none, fmt.Sprintf("fill (%s free)", units.ByteSize(ds.Summary.FreeSpace)), nil
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *struct{}) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			defer vsphere.Causing(c, ep, c.Target.Ref)()
			return ep.Sim.FillDatastore(ctx, c.Target.Ref)
		},
		Revert: func(ctx context.Context, c *fault.Call, _ *struct{}) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			var ds mo.Datastore
			if err := vsphere.Get(ctx, ep, c.Target.Ref, &ds, "name"); vsphere.Gone(err) {
				return nil
			} else if err != nil {
				return err
			}
			defer vsphere.Causing(c, ep, c.Target.Ref)()
			return ep.Sim.FreeDatastore(ctx, c.Target.Ref)
		},
	})
}
