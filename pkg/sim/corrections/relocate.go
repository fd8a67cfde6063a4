package corrections

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// MigrateVMTask moves a VM to another host or resource pool, without its files.
func (c *Corrections) MigrateVMTask(ctx *simulator.Context, req *types.MigrateVM_Task) soap.HasFault {
	ref := task(ctx, req.This, "migrate", func(vm *simulator.VirtualMachine) types.BaseMethodFault {
		if req.Host == nil && req.Pool == nil {
			return &types.InvalidArgument{InvalidProperty: "host"}
		}
		if req.State != "" && req.State != vm.Runtime.PowerState {
			return &types.InvalidPowerState{RequestedState: req.State, ExistingState: vm.Runtime.PowerState}
		}
		return relocate(ctx, vm, types.VirtualMachineRelocateSpec{Host: req.Host, Pool: req.Pool})
	})
	return &methods.MigrateVM_TaskBody{Res: &types.MigrateVM_TaskResponse{Returnval: ref}}
}

// RelocateVMTask moves a VM to another host, resource pool, datastore and folder, within a vCenter.
func (c *Corrections) RelocateVMTask(ctx *simulator.Context, req *types.RelocateVM_Task) soap.HasFault {
	ref := task(ctx, req.This, "relocate", func(vm *simulator.VirtualMachine) types.BaseMethodFault {
		if req.Spec.Service != nil {
			return &types.NotSupported{} // another vCenter
		}
		return relocate(ctx, vm, req.Spec)
	})
	return &methods.RelocateVM_TaskBody{Res: &types.RelocateVM_TaskResponse{Returnval: ref}}
}

// relocate checks everything before it changes anything. The caller holds the VM's lock.
func relocate(ctx *simulator.Context, vm *simulator.VirtualMachine, spec types.VirtualMachineRelocateSpec) types.BaseMethodFault {
	d, fault := resolve(ctx, vm, spec)
	if fault != nil {
		return fault
	}
	from := *vm.Runtime.Host
	source, _ := ctx.Map.Get(from).(*simulator.HostSystem)
	event := &types.VmMigratedEvent{}
	if source != nil {
		event.SourceHost = *vc.HostArgument(source)
	}
	event.SourceDatacenter = vc.DatacenterArgument(ctx, vm.Self)
	if len(vm.Datastore) > 0 {
		if ds, ok := ctx.Map.Get(vm.Datastore[0]).(*simulator.Datastore); ok {
			event.SourceDatastore = vc.DatastoreArgument(ds)
		}
	}

	vc.Post(ctx, begun(ctx, vm, d, event))
	if len(spec.DeviceChange) > 0 {
		if fault := reconfigure(ctx, vm, spec.DeviceChange); fault != nil {
			return fault
		}
	}
	if d.datastore != nil {
		if fault := moveFiles(ctx, vm, d.datastore); fault != nil {
			return fault
		}
	}
	changes := []types.PropertyChange{
		vc.P("runtime.host", d.host.Self), vc.P("summary.runtime.host", d.host.Self), vc.P("resourcePool", d.pool),
	}
	if d.networks != nil {
		changes = append(changes, reconnect(ctx, vm, d.networks)...)
	}
	relist(ctx, vm.Self, from, d.host.Self)
	if vm.ResourcePool != nil {
		relist(ctx, vm.Self, *vm.ResourcePool, d.pool)
	}
	if d.folder != nil && *d.folder != *vm.Parent {
		moveFolder(ctx, vm, *d.folder)
	}
	ctx.Update(vm, changes)

	event.VmEvent = vc.VMEvent(ctx, vm, "")
	event.FullFormattedMessage = fmt.Sprintf("Migration of virtual machine %s from %s to %s completed", vm.Name,
		whereabouts(event.SourceHost.Name, event.SourceDatastore), whereabouts(d.host.Name, event.Ds))
	if from == d.host.Self && d.datastore != nil {
		vc.Post(ctx, &types.VmRelocatedEvent{
			VmRelocateSpecEvent: types.VmRelocateSpecEvent{VmEvent: event.VmEvent},
			SourceHost:          event.SourceHost, SourceDatacenter: event.SourceDatacenter, SourceDatastore: event.SourceDatastore,
		})
		return nil
	}
	vc.Post(ctx, event)
	return nil
}

// begun returns the event at the start of a move of a VM, whose lock is held: to another host while it is on or off, or of its
// files only.
func begun(ctx *simulator.Context, vm *simulator.VirtualMachine, d destination, end *types.VmMigratedEvent) types.BaseEvent {
	e := vc.VMEvent(ctx, vm, "Migrating %s from %s to %s", vm.Name, end.SourceHost.Name, d.host.Name)
	var ds *types.DatastoreEventArgument
	if d.datastore != nil {
		ds = vc.DatastoreArgument(d.datastore)
	} else if e.Ds != nil {
		ds = e.Ds
	}
	dc := vc.DatacenterArgument(ctx, d.host.Self)
	switch {
	case end.SourceHost.Host == d.host.Self && d.datastore != nil:
		e.FullFormattedMessage = fmt.Sprintf("Relocating %s from %s to %s", vm.Name,
			whereabouts(end.SourceHost.Name, end.SourceDatastore), whereabouts(d.host.Name, ds))
		return &types.VmBeingRelocatedEvent{
			VmRelocateSpecEvent: types.VmRelocateSpecEvent{VmEvent: e},
			DestHost:            *vc.HostArgument(d.host), DestDatacenter: dc, DestDatastore: ds,
		}
	case vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn:
		return &types.VmBeingHotMigratedEvent{VmEvent: e, DestHost: *vc.HostArgument(d.host), DestDatacenter: dc, DestDatastore: ds}
	}
	return &types.VmBeingMigratedEvent{VmEvent: e, DestHost: *vc.HostArgument(d.host), DestDatacenter: dc, DestDatastore: ds}
}

// whereabouts describes the place of a VM in an event.
func whereabouts(host string, datastore *types.DatastoreEventArgument) string {
	if datastore == nil {
		return host
	}
	return host + ", " + datastore.Name
}

// reconfigure lets vcsim change the VM's devices within the task: it passes on the lock that ctx holds.
func reconfigure(ctx *simulator.Context, vm *simulator.VirtualMachine, changes []types.BaseVirtualDeviceConfigSpec) types.BaseMethodFault {
	body, ok := vm.ReconfigVMTask(ctx, &types.ReconfigVM_Task{
		This: vm.Self, Spec: types.VirtualMachineConfigSpec{DeviceChange: changes},
	}).(*methods.ReconfigVM_TaskBody)
	if !ok || body.Res == nil {
		return new(types.InvalidVmConfig)
	}
	t, ok := ctx.Map.Get(body.Res.Returnval).(*simulator.Task)
	if !ok {
		return new(types.InvalidVmConfig)
	}
	t.Wait()
	if t.Info.Error != nil {
		return t.Info.Error.Fault
	}
	return nil
}

// moveFiles moves the directory of the VM, whose lock is held, to another datastore and rewrites every path in it. Otherwise a VM
// in another datacenter would refer to a datastore that does not exist there, and vcsim panics when the VM is destroyed. Disks
// outside of the directory stay.
func moveFiles(ctx *simulator.Context, vm *simulator.VirtualMachine, to *simulator.Datastore) types.BaseMethodFault {
	var home object.DatastorePath
	if !home.FromString(vm.Config.Files.VmPathName) {
		return &types.InvalidDatastorePath{DatastorePath: vm.Config.Files.VmPathName}
	}
	from, ok := datastoreNamed(ctx, vm, home.Datastore)
	if !ok {
		return &types.InvalidDatastorePath{DatastorePath: vm.Config.Files.VmPathName}
	}
	if from == to {
		// The home stays. First-class disks elsewhere follow this change all the same, see pkg/sim/cns.
		ctx.Update(vm, []types.PropertyChange{vc.P("config.files", vm.Config.Files)})
		return nil
	}
	oldDir := path.Dir(home.Path)
	newDir, err := moveDir(from.Summary.Url, to.Summary.Url, oldDir)
	if err != nil {
		return &types.FileFault{File: vm.Config.Files.VmPathName}
	}
	was := (&object.DatastorePath{Datastore: from.Name, Path: oldDir}).String()
	is := (&object.DatastorePath{Datastore: to.Name, Path: newDir}).String()
	rewrite := func(s string) string {
		if s == was || strings.HasPrefix(s, was+"/") {
			return is + s[len(was):]
		}
		return s
	}

	others := false // files that stay on the old datastore
	devices := copyDevices(vm.Config.Hardware.Device)
	for _, d := range devices {
		backing, ok := d.GetVirtualDevice().Backing.(types.BaseVirtualDeviceFileBackingInfo)
		if !ok {
			continue
		}
		file := backing.GetVirtualDeviceFileBackingInfo()
		if moved := rewrite(file.FileName); moved != file.FileName {
			file.FileName = moved
			if file.Datastore != nil {
				file.Datastore = &to.Self
			}
		} else if file.Datastore != nil && *file.Datastore == from.Self {
			others = true
		}
	}
	files := vm.Config.Files
	for _, s := range []*string{&files.VmPathName, &files.SnapshotDirectory, &files.SuspendDirectory, &files.LogDirectory} {
		*s = rewrite(*s)
	}
	layout := *vm.LayoutEx
	layout.File = slices.Clone(layout.File)
	for i := range layout.File {
		layout.File[i].Name = rewrite(layout.File[i].Name)
	}

	datastores := append(vc.Without(slices.Clone(vm.Datastore), to.Self), to.Self)
	if !others {
		datastores = vc.Without(datastores, from.Self)
		relist(ctx, vm.Self, from.Self, to.Self)
	} else {
		relist(ctx, vm.Self, vc.Ref{}, to.Self)
	}
	ctx.Update(vm, []types.PropertyChange{
		vc.P("config.hardware.device", devices),
		vc.P("config.files", files),
		vc.P("summary.config.vmPathName", files.VmPathName),
		vc.P("layoutEx", layout),
		vc.P("datastore", datastores),
	})
	return nil
}

// datastoreNamed returns one of the VM's datastores by name.
func datastoreNamed(ctx *simulator.Context, vm *simulator.VirtualMachine, name string) (*simulator.Datastore, bool) {
	for _, ref := range vm.Datastore {
		if ds, ok := ctx.Map.Get(ref).(*simulator.Datastore); ok && ds.Name == name {
			return ds, true
		}
	}
	return nil, false
}

// moveDir moves a directory between two roots, to a free name ("vm", "vm_1" …).
func moveDir(from, to, dir string) (string, error) {
	name := dir
	for i := 1; ; i++ {
		_, err := os.Lstat(filepath.Join(to, name))
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return "", err
		}
		name = fmt.Sprintf("%s_%d", dir, i)
	}
	return name, os.Rename(filepath.Join(from, dir), filepath.Join(to, name))
}

// destination is the complete and checked destination of a VM.
type destination struct {
	host      *simulator.HostSystem
	pool      vc.Ref
	datastore *simulator.Datastore // nil: the files stay
	folder    *vc.Ref              // nil: it stays in its folder
	networks  map[vc.Ref]vc.Ref    // its networks and those with the same names there; nil within a datacenter
}

// resolve completes the spec as vCenter does: the pool determines the host, the host determines the datacenter, and a VM that
// changes datacenters goes to the root VM folder of the new one.
func resolve(ctx *simulator.Context, vm *simulator.VirtualMachine, spec types.VirtualMachineRelocateSpec) (d destination, _ types.BaseMethodFault) {
	var fault types.BaseMethodFault
	if spec.Datastore != nil {
		ds, ok := ctx.Map.Get(*spec.Datastore).(*simulator.Datastore)
		if !ok {
			return d, &types.ManagedObjectNotFound{Obj: *spec.Datastore}
		}
		if !slices.Equal(vm.Datastore, []vc.Ref{ds.Self}) {
			d.datastore = ds
		}
	}
	for _, disk := range spec.Disk {
		// All files move together here.
		if spec.Datastore == nil || disk.Datastore != *spec.Datastore {
			if !slices.Equal(vm.Datastore, []vc.Ref{disk.Datastore}) {
				return d, new(types.NotSupported)
			}
		}
	}
	if d.host, d.pool, fault = place(ctx, vm, spec); fault != nil {
		return d, fault
	}
	needs := vm.Datastore
	if d.datastore != nil {
		needs = []vc.Ref{d.datastore.Self} // first-class disks follow, see pkg/sim/cns
	}
	if fault := usable(ctx, d.host, needs); fault != nil {
		return d, fault
	}

	here, _ := vc.Datacenter(ctx.Map, vm.Self)
	there, _ := vc.Datacenter(ctx.Map, d.host.Self)
	dc, ok := ctx.Map.Get(there).(*simulator.Datacenter)
	if !ok {
		return d, &types.ManagedObjectNotFound{Obj: there}
	}
	if spec.Folder != nil {
		if _, ok := ctx.Map.Get(*spec.Folder).(*simulator.Folder); !ok {
			return d, &types.ManagedObjectNotFound{Obj: *spec.Folder}
		}
		if in, _ := vc.Datacenter(ctx.Map, *spec.Folder); in != there {
			return d, &types.InvalidArgument{InvalidProperty: "spec.folder"}
		}
		d.folder = spec.Folder
	} else if here != there {
		d.folder = &dc.VmFolder
	}
	if here != there {
		d.networks, fault = networks(ctx, vm, dc)
	}
	return d, fault
}

// place chooses host and resource pool.
func place(ctx *simulator.Context, vm *simulator.VirtualMachine, spec types.VirtualMachineRelocateSpec) (*simulator.HostSystem, vc.Ref, types.BaseMethodFault) {
	pool := vm.ResourcePool
	if spec.Pool != nil {
		pool = spec.Pool
	}
	if pool == nil {
		return nil, vc.Ref{}, &types.InvalidArgument{InvalidProperty: "spec.pool"}
	}
	owner, fault := owner(ctx, *pool)
	if fault != nil {
		return nil, vc.Ref{}, fault
	}
	compute, ok := vc.Compute(ctx.Map.Get(owner))
	if !ok {
		return nil, vc.Ref{}, &types.ManagedObjectNotFound{Obj: owner}
	}
	var members []vc.Ref
	ctx.WithLock(ctx.Map.Get(owner), func() { members = slices.Clone(compute.Host) })
	ref := *vm.Runtime.Host
	if spec.Host != nil {
		ref = *spec.Host
	} else if !slices.Contains(members, ref) {
		// The pool of another cluster without a host: DRS chooses the first suitable one.
		for _, candidate := range members {
			if h, ok := ctx.Map.Get(candidate).(*simulator.HostSystem); ok && usable(ctx, h, nil) == nil {
				ref = candidate
				break
			}
		}
	}
	h, ok := ctx.Map.Get(ref).(*simulator.HostSystem)
	if !ok {
		return nil, vc.Ref{}, &types.ManagedObjectNotFound{Obj: ref}
	}
	if !slices.Contains(members, ref) {
		// Also without a pool: a host elsewhere needs a pool there.
		return nil, vc.Ref{}, &types.InvalidArgument{InvalidProperty: "spec.pool"}
	}
	return h, *pool, nil
}

func owner(ctx *simulator.Context, pool vc.Ref) (vc.Ref, types.BaseMethodFault) {
	switch p := ctx.Map.Get(pool).(type) {
	case *simulator.ResourcePool:
		return p.Owner, nil
	case *simulator.VirtualApp:
		return p.Owner, nil
	}
	return vc.Ref{}, &types.ManagedObjectNotFound{Obj: pool}
}

// usable returns the reason why a VM with files on these datastores cannot run on the host, or nil.
func usable(ctx *simulator.Context, h *simulator.HostSystem, datastores []vc.Ref) (fault types.BaseMethodFault) {
	ctx.WithLock(h, func() {
		switch {
		case h.Runtime.ConnectionState != types.HostSystemConnectionStateConnected:
			fault = new(types.HostNotConnected)
		case h.Runtime.InMaintenanceMode:
			fault = new(types.InvalidState)
		}
		for _, ds := range datastores {
			if fault == nil && !slices.Contains(h.Datastore, ds) {
				fault = &types.InaccessibleDatastore{
					InvalidDatastore: types.InvalidDatastore{Datastore: &ds, Name: nameOf(ctx, ds)},
					Detail:           "not mounted on host " + h.Name,
				}
			}
		}
	})
	return fault
}

// networks maps the networks of the VM's NICs, by name and kind, to those of another datacenter.
func networks(ctx *simulator.Context, vm *simulator.VirtualMachine, dc *simulator.Datacenter) (map[vc.Ref]vc.Ref, types.BaseMethodFault) {
	var there []vc.Ref
	ctx.WithLock(dc, func() { there = slices.Clone(dc.Network) })
	found := make(map[vc.Ref]vc.Ref)
	for _, d := range vm.Config.Hardware.Device {
		ref, ok := vc.NetworkOf(d)
		if !ok || found[ref] != (vc.Ref{}) {
			continue
		}
		name := nameOf(ctx, ref)
		for _, candidate := range there {
			if candidate.Type == ref.Type && nameOf(ctx, candidate) == name {
				found[ref] = candidate
				break
			}
		}
		if found[ref] == (vc.Ref{}) {
			return nil, &types.CannotAccessNetwork{
				CannotAccessVmDevice: types.CannotAccessVmDevice{Device: "network adapter", Backing: name},
			}
		}
	}
	return found, nil
}
