package host

import (
	"cmp"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// needsHost reports whether a call on a VM needs its host.
func needsHost(method string) bool {
	switch method {
	case "PowerOnVM_Task", "PowerOffVM_Task", "SuspendVM_Task", "ResetVM_Task", "TerminateVM",
		"ShutdownGuest", "RebootGuest", "StandbyGuest",
		"ReconfigVM_Task", "UpgradeVM_Task", "CustomizeVM_Task", "Rename_Task", "Destroy_Task",
		"RelocateVM_Task", "MigrateVM_Task", "CloneVM_Task", "InstantClone_Task",
		"CreateSnapshot_Task", "CreateSnapshotEx_Task", "RevertToCurrentSnapshot_Task", "RemoveAllSnapshots_Task",
		"AttachDisk_Task", "DetachDisk_Task", "PromoteDisks_Task", "MarkAsTemplate", "MarkAsVirtualMachine":
		return true
	}
	return false
}

// Check returns the reason why a call is impossible in the current state of the hosts, or nil. If the call creates a VM without
// naming a host, Check fills one in: vcsim would take any, and damage the cluster's list of hosts. Call it from the registry's
// call hook, before any redirection.
func (h *Hosts) Check(ctx *simulator.Context, method *simulator.Method) types.BaseMethodFault {
	if ctx.Session == nil || h.opts.Stock.Has(stock.Hosts) {
		return nil
	}
	switch method.This.Type {
	case "VirtualMachine":
		if fault := h.checkVM(ctx, method); fault != nil {
			return fault
		}
		switch req := method.Body.(type) {
		case *types.CloneVM_Task:
			return h.checkClone(ctx, req)
		case *types.RelocateVM_Task:
			return h.checkMove(ctx, req.This, req.Spec.Host)
		case *types.MigrateVM_Task:
			return h.checkMove(ctx, req.This, req.Host)
		}
	case "Folder", "ResourcePool", "VirtualApp":
		switch req := method.Body.(type) {
		case *types.CreateVM_Task:
			return h.checkPlace(ctx, &req.Host, &req.Pool, homeOf(req.Config))
		case *types.CreateChildVM_Task:
			return h.checkPlace(ctx, &req.Host, &req.This, homeOf(req.Config))
		case *types.RegisterVM_Task:
			return h.checkPlace(ctx, &req.Host, req.Pool, req.Path)
		}
	}
	return nil
}

// checkVM checks the VM of the call and its host.
func (h *Hosts) checkVM(ctx *simulator.Context, method *simulator.Method) (fault types.BaseMethodFault) {
	if !needsHost(method.Name) {
		return nil
	}
	vm, ok := ctx.Map.Get(method.This).(*simulator.VirtualMachine)
	if !ok {
		return nil
	}
	ctx.WithLock(vm, func() {
		if vm.Runtime.Host == nil {
			return
		}
		if fault = h.condition(*vm.Runtime.Host).fault(); fault != nil {
			return
		}
		switch h.connection(ctx, vm) {
		case types.VirtualMachineConnectionStateDisconnected, types.VirtualMachineConnectionStateOrphaned,
			types.VirtualMachineConnectionStateInaccessible:
			fault = new(types.InvalidState)
		default:
		}
	})
	return fault
}

// checkMove checks the host to which a VM moves; the current one is always fine.
func (h *Hosts) checkMove(ctx *simulator.Context, ref vc.Ref, host *vc.Ref) types.BaseMethodFault {
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if host == nil || !ok {
		return nil
	}
	var here bool
	ctx.WithLock(vm, func() { here = vm.Runtime.Host != nil && *vm.Runtime.Host == *host })
	if here {
		return nil
	}
	return h.checkPlace(ctx, &host, nil, "")
}

// checkClone checks the destination of a clone.
func (h *Hosts) checkClone(ctx *simulator.Context, req *types.CloneVM_Task) types.BaseMethodFault {
	to := &req.Spec.Location
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		return nil
	}
	var pool, host *vc.Ref
	path := ""
	ctx.WithLock(vm, func() {
		pool, host = vm.ResourcePool, vm.Runtime.Host
		if vm.Config != nil {
			path = vm.Config.Files.VmPathName
		}
	})
	if to.Pool != nil {
		pool = to.Pool
	}
	if to.Datastore != nil {
		if ds, ok := ctx.Map.Get(*to.Datastore).(*simulator.Datastore); ok {
			path = (&object.DatastorePath{Datastore: ds.Name}).String()
		}
	}
	if to.Host == nil && host != nil && h.Usable(*host) && h.inPool(ctx, *host, pool) {
		return nil // it stays on the original's host
	}
	return h.checkPlace(ctx, &to.Host, pool, path)
}

// checkPlace checks the requested host, or chooses one of the pool that mounts the datastore of path.
func (h *Hosts) checkPlace(ctx *simulator.Context, host **vc.Ref, pool *vc.Ref, path string) types.BaseMethodFault {
	if *host != nil {
		if _, ok := ctx.Map.Get(**host).(*simulator.HostSystem); !ok {
			return &types.ManagedObjectNotFound{Obj: **host}
		}
		c := h.condition(**host)
		if fault := c.fault(); fault != nil {
			return fault
		}
		if !c.usable() {
			return new(types.InvalidState)
		}
		return nil
	}
	var where object.DatastorePath
	if pool == nil || !where.FromString(path) {
		return nil // vcsim returns the error
	}
	compute, ok := ownerOf(ctx, *pool)
	if !ok {
		return nil
	}
	chosen, err := h.choose(ctx, compute, nil, func(ref vc.Ref) bool { return mounts(ctx, ref, where.Datastore) })
	if err == nil {
		*host = &chosen.Self
		return nil
	}
	if _, err := h.choose(ctx, compute, nil, nil); err != nil {
		return &types.NoActiveHostInCluster{ComputeResource: compute}
	}
	return &types.InvalidDatastorePath{
		InvalidDatastore: types.InvalidDatastore{Name: where.Datastore}, DatastorePath: path,
	}
}

// mounts reports whether the host mounts a datastore of that name and can read it.
func mounts(ctx *simulator.Context, ref vc.Ref, name string) bool {
	host, ok := ctx.Map.Get(ref).(*simulator.HostSystem)
	if !ok {
		return false
	}
	var datastores []vc.Ref
	ctx.WithLock(host, func() { datastores = slices.Clone(host.Datastore) })
	return slices.ContainsFunc(datastores, func(d vc.Ref) bool {
		ds, ok := ctx.Map.Get(d).(*simulator.Datastore)
		return ok && ds.Name == name && reaches(ctx, ds, ref)
	})
}

func (h *Hosts) inPool(ctx *simulator.Context, host vc.Ref, pool *vc.Ref) bool {
	if pool == nil {
		return true
	}
	compute, ok := ownerOf(ctx, *pool)
	if !ok {
		return true
	}
	obj, ok := ctx.Map.Get(host).(*simulator.HostSystem)
	return ok && obj.Parent != nil && *obj.Parent == compute
}

// ownerOf returns the compute resource of a pool or vApp.
func ownerOf(ctx *simulator.Context, pool vc.Ref) (vc.Ref, bool) {
	switch p := ctx.Map.Get(pool).(type) {
	case *simulator.ResourcePool:
		return p.Owner, true
	case *simulator.VirtualApp:
		return p.Owner, true
	}
	return vc.Ref{}, false
}

func homeOf(spec types.VirtualMachineConfigSpec) string {
	if spec.Files == nil {
		return ""
	}
	return spec.Files.VmPathName
}

// reason returns why full datastores or refused disks make a call impossible, or nil.
func (h *Hosts) reason(ctx *simulator.Context, body any) types.BaseMethodFault {
	switch req := body.(type) {
	case *types.CreateVM_Task:
		return h.noSpaceAt(ctx, &req.This, homeOf(req.Config))
	case *types.CreateChildVM_Task:
		return h.noSpaceAt(ctx, &req.This, homeOf(req.Config))
	case *types.CloneVM_Task:
		return h.noSpaceFor(ctx, req.This, req.Spec.Location.Datastore)
	case *types.RelocateVM_Task:
		if req.Spec.Datastore == nil || uses(ctx, req.This, *req.Spec.Datastore) {
			return nil
		}
		return h.noSpace(ctx, *req.Spec.Datastore)
	case *types.CreateSnapshot_Task:
		return h.noSpaceFor(ctx, req.This, nil)
	case *types.CreateSnapshotEx_Task:
		return h.noSpaceFor(ctx, req.This, nil)
	case *types.ReconfigVM_Task:
		return h.reconfig(ctx, req)
	case *types.AttachDisk_Task:
		attach, _ := h.DisksRefused(req.This)
		return attach
	case *types.DetachDisk_Task:
		_, detach := h.DisksRefused(req.This)
		return detach
	case *types.CreateVirtualDisk_Task:
		return h.noSpaceAt(ctx, req.Datacenter, req.Name)
	case *types.ExtendVirtualDisk_Task:
		return h.noSpaceAt(ctx, req.Datacenter, req.Name)
	case *types.CopyVirtualDisk_Task:
		return h.noSpaceAt(ctx, cmp.Or(req.DestDatacenter, req.SourceDatacenter), req.DestName)
	case *types.CreateDisk_Task:
		if b := req.Spec.BackingSpec; b != nil {
			return h.noSpace(ctx, b.GetVslmCreateSpecBackingSpec().Datastore)
		}
	case *types.ExtendDisk_Task:
		return h.noSpace(ctx, req.Datastore)
	}
	return nil
}

// reconfig checks the disks that are added to, removed from or extended on a VM.
func (h *Hosts) reconfig(ctx *simulator.Context, req *types.ReconfigVM_Task) types.BaseMethodFault {
	attach, detach := h.DisksRefused(req.This)
	for _, change := range req.Spec.DeviceChange {
		c := change.GetVirtualDeviceConfigSpec()
		disk, ok := c.Device.(*types.VirtualDisk)
		if !ok {
			continue
		}
		switch c.Operation {
		case types.VirtualDeviceConfigSpecOperationAdd:
			if attach != nil {
				return attach
			}
			if c.FileOperation != "" {
				if fault := h.noSpaceForDisk(ctx, req.This, disk); fault != nil {
					return fault
				}
			} else if h.opts.Locked != nil && h.opts.Locked(req.This, disk) {
				return new(types.FileLocked)
			}
		case types.VirtualDeviceConfigSpecOperationRemove:
			if detach != nil {
				return detach
			}
		case types.VirtualDeviceConfigSpecOperationEdit:
			if larger(ctx, req.This, disk) {
				if fault := h.noSpaceForDisk(ctx, req.This, disk); fault != nil {
					return fault
				}
			}
		}
	}
	return nil
}

// noSpaceForDisk checks the datastore of a disk: its own, that of its file, or the VM's home.
func (h *Hosts) noSpaceForDisk(ctx *simulator.Context, vm vc.Ref, disk *types.VirtualDisk) types.BaseMethodFault {
	b, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo)
	if !ok {
		return h.noSpaceFor(ctx, vm, nil)
	}
	file := b.GetVirtualDeviceFileBackingInfo()
	if file.Datastore != nil {
		return h.noSpace(ctx, *file.Datastore)
	}
	if file.FileName != "" {
		return h.noSpaceAt(ctx, &vm, file.FileName)
	}
	return h.noSpaceFor(ctx, vm, nil)
}

// noSpaceFor checks a datastore, or the VM's home if none is named.
func (h *Hosts) noSpaceFor(ctx *simulator.Context, ref vc.Ref, datastore *vc.Ref) types.BaseMethodFault {
	if datastore != nil {
		return h.noSpace(ctx, *datastore)
	}
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return nil
	}
	path := ""
	ctx.WithLock(vm, func() {
		if vm.Config != nil {
			path = vm.Config.Files.VmPathName
		}
	})
	return h.noSpaceAt(ctx, &ref, path)
}

func uses(ctx *simulator.Context, ref, datastore vc.Ref) (yes bool) {
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return false
	}
	ctx.WithLock(vm, func() {
		for _, d := range vm.Datastore {
			yes = yes || d == datastore
		}
	})
	return yes
}

// larger reports whether the disk is larger than the VM's disk with the same key.
func larger(ctx *simulator.Context, ref vc.Ref, disk *types.VirtualDisk) (yes bool) {
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return false
	}
	ctx.WithLock(vm, func() {
		if vm.Config == nil {
			return
		}
		for _, d := range vm.Config.Hardware.Device {
			if is, ok := d.(*types.VirtualDisk); ok && is.Key == disk.Key {
				yes = disk.CapacityInKB > is.CapacityInKB || disk.CapacityInBytes > is.CapacityInBytes
			}
		}
	})
	return yes
}
