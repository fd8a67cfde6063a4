package storage

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/mo"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

// removed is the host that a datastore is removed from.
type removed struct {
	Host vsphere.Ref `json:"host"`
}

func removedFromHost() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "datastore.removed-from-host",
		Short: "removes datastores from a host: neither lists the other any more",
		Long: `The usual reason for "no shared datastores": one host in a zone does not mount what all others do. VMs on that host whose
configuration is there become inaccessible and run on. Healing mounts the datastore again.`,
		Object: fault.Datastore, Needs: []fault.Need{fault.Simulator}, Touches: "mounts",
		Params:   []fault.Param{{Name: "host", Short: "name of the host", Type: fault.Text, Required: true}},
		Reported: []string{"vsphere-csi-driver#122", "vsphere-csi-driver#1137", "vsphere-csi-driver#2055"},
	}, fault.Steps[removed]{
		Plan: func(ctx context.Context, c *fault.Call) (r removed, does string, err error) {
			ep, err := vsphere.At(c)
			if err != nil {
				return r, "", err
			}
			var ds mo.Datastore
			if err := vsphere.Get(ctx, ep, c.Target.Ref, &ds, "host"); err != nil {
				return r, "", err
			}
			var refs []vsphere.Ref
			for _, m := range ds.Host {
				refs = append(refs, m.Key)
			}
			var hosts []mo.HostSystem
			if err := vsphere.GetAll(ctx, ep, refs, &hosts, "name"); err != nil {
				return r, "", err
			}
			name := c.Params.Text("host")
			i := slices.IndexFunc(hosts, func(h mo.HostSystem) bool { return h.Name == name })
			if i < 0 {
				return r, "", fault.Refuse("datastore %q: no host %q mounts it", c.Target.Name, name)
			}
			r.Host = hosts[i].Self
			return r, fmt.Sprintf("remove from host %s (mounted by %s)", name, shorten.Count(len(hosts), "host")), nil
		},
		Apply: func(ctx context.Context, c *fault.Call, r *removed) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			defer vsphere.Causing(c, ep, c.Target.Ref)()
			return ep.Sim.UnmountDatastore(ctx, c.Target.Ref, r.Host)
		},
		Revert: func(ctx context.Context, c *fault.Call, r *removed) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			for _, ref := range []vsphere.Ref{c.Target.Ref, r.Host} {
				var e mo.ManagedEntity
				if err := vsphere.Get(ctx, ep, ref, &e, "name"); vsphere.Gone(err) {
					return nil
				} else if err != nil {
					return err
				}
			}
			defer vsphere.Causing(c, ep, c.Target.Ref)()
			return ep.Sim.MountDatastore(ctx, c.Target.Ref, r.Host)
		},
	})
}
