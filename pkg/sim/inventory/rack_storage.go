package inventory

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// shelf is a host with the disks and exports that it sees.
type shelf struct {
	system *simulator.HostDatastoreSystem
	host   *mo.HostSystem
	dc     *simulator.Datacenter
	sees   []*topology.Datastore
}

func (j *HostAdder) shelf(ctx *simulator.Context, system vc.Ref) (s shelf, _ types.BaseMethodFault) {
	var ok bool
	if s.system, ok = ctx.Map.Get(system).(*simulator.HostDatastoreSystem); !ok || s.system.Host == nil {
		return s, &types.ManagedObjectNotFound{Obj: system}
	}
	s.host = s.system.Host
	if s.dc = datacenterOf(ctx, s.host.Self); s.dc == nil {
		return s, &types.ManagedObjectNotFound{Obj: s.host.Self}
	}
	s.sees = j.rack.sees(s.dc.Name, s.host.Name)
	return s, nil
}

// find returns the datastore with that name in the host's datacenter, or nil.
func (s shelf) find(ctx *simulator.Context, name string) *simulator.Datastore {
	folder, ok := ctx.Map.Get(s.dc.DatastoreFolder).(*simulator.Folder)
	if !ok {
		return nil
	}
	ds, _ := ctx.Map.FindByName(name, folder.ChildEntity).(*simulator.Datastore)
	return ds
}

// CreateVmfsDatastore creates a datastore on a disk, for every host that sees the disk, as vCenter rescans them. vcsim lacks this
// call.
func (j *HostAdder) CreateVmfsDatastore(ctx *simulator.Context, req *types.CreateVmfsDatastore) soap.HasFault {
	j.rack.serial.Lock()
	defer j.rack.serial.Unlock()
	body := new(methods.CreateVmfsDatastoreBody)
	s, fault := j.shelf(ctx, req.This)
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	disks, specs := j.blank(ctx, s)
	i := slices.IndexFunc(disks, func(d types.HostScsiDisk) bool { return d.CanonicalName == req.Spec.Vmfs.Extent.DiskName })
	if i < 0 {
		body.Fault_ = simulator.Fault("", &types.InvalidArgument{InvalidProperty: "spec.vmfs.extent"})
		return body
	}
	if name := req.Spec.Vmfs.VolumeName; name != specs[i].Name {
		body.Fault_ = simulator.Fault("", &types.InvalidName{Name: name})
		return body
	}
	ref, fault := j.mountOn(ctx, s, specs[i])
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	for _, e := range ctx.Map.All("HostSystem") {
		h, ok := e.(*simulator.HostSystem)
		if !ok || h.Self == s.host.Self || h.ConfigManager.DatastoreSystem == nil {
			continue
		}
		if other, fault := j.shelf(ctx, *h.ConfigManager.DatastoreSystem); fault == nil && other.dc == s.dc && slices.Contains(other.sees, specs[i]) {
			_, _ = j.mountOn(ctx, other, specs[i]) // an unreachable host mounts it at its next rescan
		}
	}
	body.Res = &types.CreateVmfsDatastoreResponse{Returnval: ref}
	return body
}

// RescanVmfs finds datastores on the disks of a host; vcsim's finds none.
func (j *HostAdder) RescanVmfs(ctx *simulator.Context, req *types.RescanVmfs) soap.HasFault {
	j.rack.serial.Lock()
	defer j.rack.serial.Unlock()
	body := &methods.RescanVmfsBody{Res: new(types.RescanVmfsResponse)}
	for _, e := range ctx.Map.All("HostSystem") {
		h, ok := e.(*simulator.HostSystem)
		if !ok || h.ConfigManager.StorageSystem == nil || *h.ConfigManager.StorageSystem != req.This || h.ConfigManager.DatastoreSystem == nil {
			continue
		}
		s, fault := j.shelf(ctx, *h.ConfigManager.DatastoreSystem)
		if fault != nil {
			continue
		}
		for _, d := range s.sees {
			if d.Type != topology.NFS && d.Type != topology.NFS41 && s.find(ctx, d.Name) != nil {
				_, _ = j.mountOn(ctx, s, d) // it may have it already
			}
		}
	}
	return body
}

// CreateNasDatastore mounts an export of the rack. Other exports are passed to vcsim, for which an export is a local directory.
func (j *HostAdder) CreateNasDatastore(ctx *simulator.Context, req *types.CreateNasDatastore) soap.HasFault {
	j.rack.serial.Lock()
	defer j.rack.serial.Unlock()
	body := new(methods.CreateNasDatastoreBody)
	s, fault := j.shelf(ctx, req.This)
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	name := path.Base(req.Spec.LocalPath)
	for _, d := range s.sees {
		if d.Name != name || fileSystem(d.Type) != req.Spec.Type || req.Spec.RemotePath != "/export/"+name {
			continue
		}
		ref, fault := j.mountOn(ctx, s, d)
		if fault != nil {
			body.Fault_ = simulator.Fault("", fault)
			return body
		}
		body.Res = &types.CreateNasDatastoreResponse{Returnval: ref}
		return body
	}
	var other soap.HasFault
	ctx.WithLock(s.system, func() { other = s.system.CreateNasDatastore(ctx, req) })
	return other
}

// mountOn mounts a datastore on a host, creating it for the first one.
func (j *HostAdder) mountOn(ctx *simulator.Context, s shelf, d *topology.Datastore) (vc.Ref, types.BaseMethodFault) {
	ds := s.find(ctx, d.Name)
	var dir string
	var info types.BaseDatastoreInfo
	var summary types.DatastoreSummary
	if ds == nil {
		dir = filepath.Join(homeOf(ctx.Map.OptionManager().Setting), "live-"+j.rack.derive("live", s.dc.Name, d.Name))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return vc.Ref{}, new(types.HostConfigFault)
		}
	} else {
		if slices.Contains(s.host.Datastore, ds.Self) {
			return vc.Ref{}, &types.DuplicateName{Name: d.Name, Object: ds.Self}
		}
		// Keep its properties: vcsim would read others from the directory.
		ctx.WithLock(ds, func() { info, summary = ds.Info, ds.Summary })
		dir = summary.Url
	}
	var body *methods.CreateLocalDatastoreBody
	ctx.WithLock(s.system, func() {
		body = s.system.CreateLocalDatastore(ctx, &types.CreateLocalDatastore{This: s.system.Self, Name: d.Name, Path: dir}).(*methods.CreateLocalDatastoreBody)
	})
	if body.Fault_ != nil {
		fault, _ := body.Fault_.VimFault().(types.BaseMethodFault)
		if fault == nil {
			fault = new(types.HostConfigFault)
		}
		return vc.Ref{}, fault
	}
	if made := s.find(ctx, d.Name); ds == nil && made != nil {
		ds = made
		ctx.WithLock(ds, func() { format(&ds.Datastore, d, j.rack.derive("datastore", s.dc.Name, d.Name)) })
	} else if ds != nil {
		ctx.WithLock(ds, func() {
			ds.Info, ds.Summary = info, summary
			ds.Summary.MultipleHostAccess = new(len(ds.Host) > 1)
			ctx.Update(ds, []types.PropertyChange{vc.P("host", slices.Clone(ds.Host))})
		})
	}
	hostObj := ctx.Map.Get(s.host.Self)
	relink(ctx, hostObj, "datastore", func() []vc.Ref { return slices.Clone(s.host.Datastore) })
	return ds.Self, nil
}

// homeOf returns the directory of the vCenter's files.
func homeOf(settings []types.BaseOptionValue) string {
	for _, o := range settings {
		if kv := o.GetOptionValue(); kv.Key == "vcsim.home" {
			if dir, ok := kv.Value.(string); ok {
				return dir
			}
		}
	}
	return os.TempDir()
}

// disk returns the disk of a VMFS datastore.
func (j *HostAdder) disk(dc string, d *topology.Datastore) types.HostScsiDisk {
	id := "naa.6000c29" + strings.ReplaceAll(j.rack.derive("lun", dc, d.Name), "-", "")[:25]
	disk := types.HostScsiDisk{
		Capacity:   types.HostDiskDimensionsLba{BlockSize: 512, Block: int64(d.Capacity) / 512},
		DevicePath: "/vmfs/devices/disks/" + id,
	}
	disk.CanonicalName, disk.DeviceName, disk.DeviceType = id, "/vmfs/devices/disks/"+id, "disk"
	disk.DisplayName, disk.LunType, disk.Uuid = "VMware Disk "+d.Name, "disk", id
	disk.Key = "key-vim.host.ScsiDisk-" + id
	disk.OperationalState = []string{"ok"}
	return disk
}

// blank lists the host's disks without a datastore.
func (j *HostAdder) blank(ctx *simulator.Context, s shelf) (disks []types.HostScsiDisk, of []*topology.Datastore) {
	for _, d := range s.sees {
		if kind := fileSystem(d.Type); kind == string(types.HostFileSystemVolumeFileSystemTypeVMFS) && s.find(ctx, d.Name) == nil {
			disks, of = append(disks, j.disk(s.dc.Name, d)), append(of, d)
		}
	}
	return disks, of
}

// QueryAvailableDisksForVmfs lists the disks without a datastore; vcsim lacks this call.
func (j *HostAdder) QueryAvailableDisksForVmfs(ctx *simulator.Context, req *types.QueryAvailableDisksForVmfs) soap.HasFault {
	s, fault := j.shelf(ctx, req.This)
	if fault != nil {
		return &methods.QueryAvailableDisksForVmfsBody{Fault_: simulator.Fault("", fault)}
	}
	disks, _ := j.blank(ctx, s)
	return &methods.QueryAvailableDisksForVmfsBody{Res: &types.QueryAvailableDisksForVmfsResponse{Returnval: disks}}
}

// QueryVmfsDatastoreCreateOptions offers the whole disk; vcsim lacks this call.
func (j *HostAdder) QueryVmfsDatastoreCreateOptions(ctx *simulator.Context, req *types.QueryVmfsDatastoreCreateOptions) soap.HasFault {
	s, fault := j.shelf(ctx, req.This)
	body := new(methods.QueryVmfsDatastoreCreateOptionsBody)
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	disks, _ := j.blank(ctx, s)
	for _, d := range disks {
		if d.DevicePath != req.DevicePath {
			continue
		}
		spec := &types.VmfsDatastoreCreateSpec{
			Vmfs: types.HostVmfsSpec{MajorVersion: 6, Extent: types.HostScsiDiskPartition{DiskName: d.CanonicalName, Partition: 1}},
		}
		spec.DiskUuid = d.Uuid
		body.Res = &types.QueryVmfsDatastoreCreateOptionsResponse{Returnval: []types.VmfsDatastoreOption{{
			Info: &types.VmfsDatastoreAllExtentOption{VmfsDatastoreSingleExtentOption: types.VmfsDatastoreSingleExtentOption{
				VmfsExtent: types.HostDiskPartitionBlockRange{Type: "vmfs", End: types.HostDiskDimensionsLba{BlockSize: 512, Block: d.Capacity.Block}},
			}},
			Spec: spec,
		}}}
		return body
	}
	body.Fault_ = simulator.Fault("", &types.InvalidArgument{InvalidProperty: "devicePath"})
	return body
}

// AddStandaloneHostTask adds a host outside of clusters.
func (j *HostAdder) AddStandaloneHostTask(ctx *simulator.Context, req *types.AddStandaloneHost_Task) soap.HasFault {
	body := new(methods.AddStandaloneHost_TaskBody)
	f, ok := ctx.Map.Get(req.This).(*simulator.Folder)
	if !ok {
		body.Fault_ = simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})
		return body
	}
	if !slices.Contains(f.ChildType, "ComputeResource") {
		return f.AddStandaloneHostTask(ctx, req)
	}
	// vcsim copies the host with the user's name, if one exists, with any version.
	own := *req
	own.Spec.UserName = ""
	req = &own
	body.Res = &types.AddStandaloneHost_TaskResponse{Returnval: j.addStandalone(ctx, f, func() vc.Ref {
		return f.AddStandaloneHostTask(ctx, req).(*methods.AddStandaloneHost_TaskBody).Res.Returnval
	})}
	return body
}

// AddPortGroup adds a port group to a host's standard switch. The first one in the datacenter creates the network; vcsim refuses
// a second host.
func (j *HostAdder) AddPortGroup(ctx *simulator.Context, req *types.AddPortGroup) soap.HasFault {
	j.rack.serial.Lock()
	defer j.rack.serial.Unlock()
	body := new(methods.AddPortGroupBody)
	refuse := func(f types.BaseMethodFault) soap.HasFault {
		body.Fault_ = simulator.Fault("", f)
		return body
	}
	system, ok := ctx.Map.Get(req.This).(*simulator.HostNetworkSystem)
	if !ok || system.Host == nil {
		return refuse(&types.ManagedObjectNotFound{Obj: req.This})
	}
	name := req.Portgrp.Name
	if name == "" {
		return refuse(&types.InvalidArgument{InvalidProperty: "portgrp"})
	}
	if !slices.ContainsFunc(system.NetworkInfo.Vswitch, func(s types.HostVirtualSwitch) bool { return s.Name == req.Portgrp.VswitchName }) {
		return refuse(new(types.NotFound))
	}
	dc := datacenterOf(ctx, system.Host.Self)
	if dc == nil {
		return refuse(&types.ManagedObjectNotFound{Obj: req.This})
	}
	folder := ctx.Map.Get(dc.NetworkFolder).(*simulator.Folder)
	host := system.Host
	var n *mo.Network
	if e := ctx.Map.FindByName(name, folder.ChildEntity); e != nil {
		if n, ok = e.(*mo.Network); !ok {
			return refuse(&types.DuplicateName{Name: name, Object: e.Reference()})
		}
		if slices.Contains(host.Network, n.Self) {
			return refuse(&types.AlreadyExists{Name: name})
		}
	} else {
		n = new(mo.Network)
		n.Self.Type = "Network"
		n.Name = name
		n.Entity().Name = name
		ctx.Map.NewEntity(n)
		n.Parent = &folder.Self
		n.Summary = &types.NetworkSummary{Network: new(n.Self), Name: name, Accessible: true}
		ctx.WithLock(folder, func() {
			folder.ChildEntity = append(folder.ChildEntity, n.Self)
			ctx.Map.PutEntity(folder, n)
		})
		relink(ctx, dc, "network", func() []vc.Ref { return union(dc.Network, []vc.Ref{n.Self}) })
	}
	hostObj := ctx.Map.Get(host.Self)
	ctx.WithLock(hostObj, func() {
		addGroup(host, req.Portgrp)
		publishNetwork(ctx, host)
		ctx.Update(hostObj, []types.PropertyChange{vc.P("network", union(host.Network, []vc.Ref{n.Self}))})
	})
	listHost(ctx, n.Self, host.Self)
	if c, ok := vc.Compute(ctx.Map.Get(*host.Parent)); ok {
		relink(ctx, ctx.Map.Get(c.Self), "network", func() []vc.Ref { return union(c.Network, []vc.Ref{n.Self}) })
	}
	body.Res = new(types.AddPortGroupResponse)
	return body
}

// RemovePortGroup removes a port group from a host. The last one removes the network; vcsim removes it from all hosts with the
// first, and ends the process at the second.
func (j *HostAdder) RemovePortGroup(ctx *simulator.Context, req *types.RemovePortGroup) soap.HasFault {
	j.rack.serial.Lock()
	defer j.rack.serial.Unlock()
	body := new(methods.RemovePortGroupBody)
	refuse := func(f types.BaseMethodFault) soap.HasFault {
		body.Fault_ = simulator.Fault("", f)
		return body
	}
	system, ok := ctx.Map.Get(req.This).(*simulator.HostNetworkSystem)
	if !ok || system.Host == nil {
		return refuse(&types.ManagedObjectNotFound{Obj: req.This})
	}
	host := system.Host
	dc := datacenterOf(ctx, host.Self)
	if dc == nil {
		return refuse(new(types.NotFound))
	}
	folder := ctx.Map.Get(dc.NetworkFolder).(*simulator.Folder)
	n, ok := ctx.Map.FindByName(req.PgName, folder.ChildEntity).(*mo.Network)
	if !ok || !slices.Contains(host.Network, n.Self) {
		return refuse(new(types.NotFound))
	}
	for _, ref := range host.Vm {
		if vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine); ok && slices.Contains(vm.Network, n.Self) {
			return refuse(&types.ResourceInUse{Type: "HostPortGroup", Name: req.PgName})
		}
	}
	hostObj := ctx.Map.Get(host.Self)
	ctx.WithLock(hostObj, func() {
		dropGroup(host, req.PgName)
		publishNetwork(ctx, host)
		ctx.Update(hostObj, []types.PropertyChange{vc.P("network", minus(host.Network, n.Self))})
	})
	relink(ctx, n, "host", func() []vc.Ref { return minus(n.Host, host.Self) })
	if c, ok := vc.Compute(ctx.Map.Get(*host.Parent)); ok && !slices.ContainsFunc(c.Host, func(r vc.Ref) bool { return slices.Contains(n.Host, r) }) {
		relink(ctx, ctx.Map.Get(c.Self), "network", func() []vc.Ref { return minus(c.Network, n.Self) })
	}
	if len(n.Host) == 0 {
		relink(ctx, dc, "network", func() []vc.Ref { return minus(dc.Network, n.Self) })
		relink(ctx, folder, "childEntity", func() []vc.Ref { return minus(folder.ChildEntity, n.Self) })
		ctx.Map.Remove(ctx, n.Self)
	}
	body.Res = new(types.RemovePortGroupResponse)
	return body
}

// listHost adds a host to those of a network.
func listHost(ctx *simulator.Context, network, host vc.Ref) {
	if n, ok := ctx.Map.Get(network).(*mo.Network); ok {
		relink(ctx, n, "host", func() []vc.Ref { return union(n.Host, []vc.Ref{host}) })
	}
}

// relink changes a list of references, with an update.
func relink(ctx *simulator.Context, obj mo.Reference, property string, list func() []vc.Ref) {
	ctx.WithLock(obj, func() { ctx.Update(obj, []types.PropertyChange{vc.P(property, list())}) })
}

func entityName(obj mo.Reference) string {
	if e, ok := obj.(mo.Entity); ok {
		return e.Entity().Name
	}
	return ""
}
