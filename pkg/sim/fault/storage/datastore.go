package storage

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/units"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

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
		Object: fault.Datastore, Needs: []fault.Need{fault.Simulator}, Aspect: "mounts",
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
			return ep.Sim.Hosts().LoseDatastore(ctx, c.Target.Ref, *hosts...)
		},
		Revert: func(ctx context.Context, c *fault.Call, hosts *[]vsphere.Ref) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			var ds mo.Datastore
			if err := vsphere.Get(ctx, ep, c.Target.Ref, &ds, "host"); vsphere.IsGone(err) {
				return nil
			} else if err != nil {
				return err
			}
			var back []vsphere.Ref // a host may be gone by now
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
			return ep.Sim.Hosts().RestoreDatastore(ctx, c.Target.Ref, back...)
		},
	})
}

func full() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "datastore.full",
		Short: "leaves no space on datastores: creating, cloning and extending fails",
		Long: `VMs, disks, snapshots and volumes cannot be made there or grow: their tasks end in NoDiskSpace. What there is runs on.
Healing frees what was free.`,
		Object: fault.Datastore, Needs: []fault.Need{fault.Simulator}, Aspect: "space",
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
			return ep.Sim.Hosts().Fill(ctx, c.Target.Ref)
		},
		Revert: func(ctx context.Context, c *fault.Call, _ *struct{}) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			var ds mo.Datastore
			if err := vsphere.Get(ctx, ep, c.Target.Ref, &ds, "name"); vsphere.IsGone(err) {
				return nil
			} else if err != nil {
				return err
			}
			defer vsphere.Causing(c, ep, c.Target.Ref)()
			return ep.Sim.Hosts().Free(ctx, c.Target.Ref)
		},
	})
}

// removed is the host from which a datastore was removed.
type removed struct {
	Host vsphere.Ref `json:"host"`
}

func removedFromHost() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "datastore.removed-from-host",
		Short: "removes datastores from a host: neither lists the other any more",
		Long: `The usual reason for "no shared datastores": one host in a zone does not mount what all others do. VMs on that host whose
configuration is there become inaccessible and run on. Healing mounts the datastore again.`,
		Object: fault.Datastore, Needs: []fault.Need{fault.Simulator}, Aspect: "mounts",
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
			return ep.Sim.Hosts().Unmount(ctx, c.Target.Ref, r.Host)
		},
		Revert: func(ctx context.Context, c *fault.Call, r *removed) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			for _, ref := range []vsphere.Ref{c.Target.Ref, r.Host} {
				var e mo.ManagedEntity
				if err := vsphere.Get(ctx, ep, ref, &e, "name"); vsphere.IsGone(err) {
					return nil
				} else if err != nil {
					return err
				}
			}
			defer vsphere.Causing(c, ep, c.Target.Ref)()
			return ep.Sim.Hosts().Mount(ctx, c.Target.Ref, r.Host)
		},
	})
}

// maintenanceOf is the task that puts a datastore into maintenance mode.
type maintenanceOf struct {
	Task vsphere.Ref `json:"task"`
}

func maintenance() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "datastore.maintenance",
		Short: "puts datastores into maintenance mode: nothing new is placed on them",
		Long: `A datastore with VMs enters it until they have left: there is no Storage DRS, which would move them. Either way no volume is
made there; those that exist can be attached. Healing cancels the task or ends the maintenance mode.`,
		Object: fault.Datastore, Aspect: "maintenance",
		Reported: []string{"vsphere-csi-driver#2169"},
	}, fault.Steps[maintenanceOf]{
		Plan: func(ctx context.Context, c *fault.Call) (none maintenanceOf, _ string, _ error) {
			ep, err := vsphere.At(c)
			if err != nil {
				return none, "", err
			}
			var ds mo.Datastore
			if err := vsphere.Get(ctx, ep, c.Target.Ref, &ds, "summary", "vm"); err != nil {
				return none, "", err
			}
			if mode := ds.Summary.MaintenanceMode; mode != "" && mode != string(types.DatastoreSummaryMaintenanceModeStateNormal) {
				return none, "", fault.Refuse("datastore %q: is in maintenance mode (%s)", c.Target.Name, mode)
			}
			return none, fmt.Sprintf("enter maintenance mode; %s on it", shorten.Count(len(ds.Vm), "VM")), nil
		},
		Apply: func(ctx context.Context, c *fault.Call, m *maintenanceOf) error {
			ep, err := vsphere.At(c)
			if err != nil {
				return err
			}
			defer vsphere.Causing(c, ep, c.Target.Ref)()
			return ep.SOAP(ctx, func(ctx context.Context, vc *vim25.Client) error {
				res, err := methods.DatastoreEnterMaintenanceMode(ctx, vc, &types.DatastoreEnterMaintenanceMode{This: c.Target.Ref})
				if err == nil && res.Returnval.Task != nil {
					m.Task = *res.Returnval.Task // with VMs on the datastore it may never end
				}
				return err
			})
		},
		Revert: endMaintenance,
	})
}

func endMaintenance(ctx context.Context, c *fault.Call, m *maintenanceOf) error {
	ep, err := vsphere.At(c)
	if err != nil {
		return err
	}
	defer vsphere.Causing(c, ep, c.Target.Ref)()
	if m.Task != (vsphere.Ref{}) {
		if err := ep.SOAP(ctx, func(ctx context.Context, vc *vim25.Client) error {
			task := object.NewTask(vc, m.Task)
			_ = task.Cancel(ctx) // InvalidState once it has ended
			_ = task.Wait(ctx)   // canceled
			return ctx.Err()
		}); err != nil {
			return err
		}
	}
	var ds mo.Datastore
	if err := vsphere.Get(ctx, ep, c.Target.Ref, &ds, "summary"); vsphere.IsGone(err) {
		return nil
	} else if err != nil {
		return err
	}
	if ds.Summary.MaintenanceMode != string(types.DatastoreSummaryMaintenanceModeStateInMaintenance) {
		return nil
	}
	return vsphere.Run(ctx, ep, func(ctx context.Context, vc *vim25.Client) (*object.Task, error) {
		res, err := methods.DatastoreExitMaintenanceMode_Task(ctx, vc, &types.DatastoreExitMaintenanceMode_Task{This: c.Target.Ref})
		if err != nil {
			return nil, err
		}
		return object.NewTask(vc, res.Returnval), nil
	})
}

// Kinds returns the faults of storage, in the order of the catalogue.
func Kinds() []*fault.Kind {
	return []*fault.Kind{
		inaccessible(), removedFromHost(), full(), maintenance(),
		attachRefused(), detached(), leftOnDeadVM(),
		slowTasks(),
	}
}
