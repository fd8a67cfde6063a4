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

// mount makes the datacenter's datastores and mounts them on their hosts.
func (b *builder) mount(dc *datacenter) error {
	for _, spec := range dc.Datastores {
		if err := b.datastore(dc, spec); err != nil {
			return fmt.Errorf("datastore %q: %w", spec.Name, err)
		}
	}
	return nil
}

// datastore makes one directory a datastore of several hosts: vcsim takes "local" datastores of one name and directory
// in one datacenter for the same.
func (b *builder) datastore(dc *datacenter, spec topology.Datastore) error {
	dir := b.file(dc.Name, spec.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	hosts := dc.hosts
	if len(spec.Hosts) > 0 {
		hosts = nil
		for _, name := range spec.Hosts {
			h, ok := dc.byName[name]
			if !ok {
				return fmt.Errorf("host %q: no such host in the datacenter", name)
			}
			hosts = append(hosts, h)
		}
	}
	var ds *simulator.Datastore
	for _, h := range hosts {
		system := b.sim.Map.Get(*h.obj.ConfigManager.DatastoreSystem).(*simulator.HostDatastoreSystem)
		ctx := b.fresh()
		var body *methods.CreateLocalDatastoreBody
		ctx.WithLock(system, func() {
			body = system.CreateLocalDatastore(ctx, &types.CreateLocalDatastore{
				This: system.Self, Name: spec.Name, Path: dir,
			}).(*methods.CreateLocalDatastoreBody)
		})
		if err := vc.Err(body); err != nil {
			return fmt.Errorf("host %q: %w", h.obj.Name, err)
		}
		// The answer names the datastore only when it was the first mount.
		if ds == nil {
			ds = b.sim.Map.Get(body.Res.Returnval).(*simulator.Datastore)
		}
	}
	if ds == nil {
		return nil // no host mounts it, so no vCenter would show it
	}
	ctx := b.fresh()
	ctx.WithLock(ds, func() { b.format(ds, spec, dc.Name) })
	return nil
}

// format makes the datastore a VMFS volume of its own size; with every mount vcsim added a terabyte.
func (b *builder) format(ds *simulator.Datastore, spec topology.Datastore, dc string) {
	id := b.derive("datastore", dc, spec.Name)
	shared := len(ds.Host) > 1
	info := *ds.Info.GetDatastoreInfo()
	info.FreeSpace = int64(spec.Capacity)
	info.ContainerId = id
	ds.Info = &types.VmfsDatastoreInfo{
		DatastoreInfo: info,
		Vmfs: &types.HostVmfsVolume{
			HostFileSystemVolume: types.HostFileSystemVolume{
				Type:     string(types.HostFileSystemVolumeFileSystemTypeVMFS),
				Name:     spec.Name,
				Capacity: int64(spec.Capacity),
			},
			BlockSizeMb:  1,
			MajorVersion: 6,
			Version:      "6.82",
			Uuid:         id,
			Ssd:          types.NewBool(true),
			Local:        types.NewBool(!shared),
		},
	}
	ds.Summary.Type = string(types.HostFileSystemVolumeFileSystemTypeVMFS)
	ds.Summary.Capacity = int64(spec.Capacity)
	ds.Summary.FreeSpace = int64(spec.Capacity)
	ds.Summary.MultipleHostAccess = &shared
}
