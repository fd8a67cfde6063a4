package storage

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/vim25/mo"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

func inaccessible() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "datastore.inaccessible",
		Short: "takes datastores away from all hosts: all paths are down",
		Long: `VMs whose configuration is there become inaccessible and run on; vCenter refuses to change them, and nothing can be made on
the datastore. Healing gives it back to the hosts that it was taken from.`,
		Object: fault.Datastore, Needs: []fault.Need{fault.Simulator}, Touches: "mounts",
		Reported: []string{"cloud-provider-vsphere#642"},
	}, fault.Steps[[]vsphere.Ref]{
		Plan: func(ctx context.Context, c *fault.Call) ([]vsphere.Ref, string, error) {
			ep, err := vsphere.At(c)
			if err != nil {
				return nil, "", err
			}
			var ds mo.Datastore
			if err := vsphere.Get(ctx, ep, c.Target.Ref, &ds, "host", "vm"); err != nil {
				return nil, "", err
			}
			var hosts []vsphere.Ref
			for _, m := range ds.Host {
				if m.MountInfo.Accessible == nil || *m.MountInfo.Accessible {
					hosts = append(hosts, m.Key)
				}
			}
			if len(hosts) == 0 {
				return nil, "", fault.Refuse("datastore %q: no host has access to it", c.Target.Name)
			}
			return hosts, fmt.Sprintf("take away from %s; %s on it", shorten.Count(len(hosts), "host"), shorten.Count(len(ds.Vm), "VM")), nil
		},
		Apply: func(ctx context.Context, c *fault.Call, hosts *[]vsphere.Ref) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			defer vsphere.Causing(c, ep, c.Target.Ref)()
			return ep.Sim.LoseDatastore(ctx, c.Target.Ref, *hosts...)
		},
		Revert: func(ctx context.Context, c *fault.Call, hosts *[]vsphere.Ref) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			var ds mo.Datastore
			if err := vsphere.Get(ctx, ep, c.Target.Ref, &ds, "host"); vsphere.Gone(err) {
				return nil
			} else if err != nil {
				return err
			}
			var back []vsphere.Ref // a host may be gone meanwhile
			for _, m := range ds.Host {
				for _, h := range *hosts {
					if m.Key == h {
						back = append(back, h)
					}
				}
			}
			if len(back) == 0 {
				return nil
			}
			defer vsphere.Causing(c, ep, c.Target.Ref)()
			return ep.Sim.RestoreDatastore(ctx, c.Target.Ref, back...)
		},
	})
}
