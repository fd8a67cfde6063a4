package inventory

import (
	"fmt"
	"os"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// datastore is a datastore with the directory of its files.
type datastore struct {
	*topology.Datastore
	obj   *simulator.Datastore
	dir   string
	hosts map[*host]bool
	// vms is the datastore's list, written when all VMs exist.
	vms []vc.Ref
}

// mount creates the datacenter's datastores and mounts them on their hosts.
func (b *builder) mount(dc *datacenter) error {
	for i := range dc.Datastores {
		if err := b.datastore(dc, &dc.Datastores[i]); err != nil {
			return fmt.Errorf("datastore %q: %w", dc.Datastores[i].Name, err)
		}
	}
	return nil
}

// datastore creates a datastore of several hosts from one directory: vcsim identifies "local" datastores with the same name and
// directory in one datacenter.
func (b *builder) datastore(dc *datacenter, spec *topology.Datastore) error {
	members, err := dc.members(spec.Hosts, spec.Clusters)
	if err != nil {
		return err
	}
	ds := &datastore{Datastore: spec, dir: b.file(dc.Name, spec.Name), hosts: make(map[*host]bool)}
	if err := os.MkdirAll(ds.dir, 0o700); err != nil {
		return err
	}
	for _, h := range members {
		if err := b.mountOn(ds, h); err != nil {
			return fmt.Errorf("host %q: %w", h.obj.Name, err)
		}
	}
	dc.datastores[spec.Name] = ds
	if ds.obj == nil {
		return nil // no host mounts it, so no vCenter would show it
	}
	ctx := b.fresh()
	ctx.WithLock(ds.obj, func() {
		format(&ds.obj.Datastore, spec, b.derive("datastore", dc.Name, spec.Name))
	})
	b.note(dc.path+"/datastore/"+spec.Name, ds.obj.Self, topology.Place{}, spec.Marks)
	return nil
}

func (b *builder) mountOn(ds *datastore, h *host) error {
	system := b.sim.Map.Get(*h.obj.ConfigManager.DatastoreSystem).(*simulator.HostDatastoreSystem)
	ctx := b.fresh()
	var body *methods.CreateLocalDatastoreBody
	ctx.WithLock(system, func() {
		body = system.CreateLocalDatastore(ctx, &types.CreateLocalDatastore{
			This: system.Self, Name: ds.Name, Path: ds.dir,
		}).(*methods.CreateLocalDatastoreBody)
	})
	if err := vc.Err(body); err != nil {
		return err
	}
	// The answer names the datastore only for the first mount.
	if ds.obj == nil {
		ds.obj = b.sim.Map.Get(body.Res.Returnval).(*simulator.Datastore)
	}
	ds.hosts[h] = true
	return nil
}
