package truth

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

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
		needs = append(firstClass(vm), d.datastore.Self) // its volumes stay where they are
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

// firstClass returns the datastores of the VM's first-class disks.
func firstClass(vm *simulator.VirtualMachine) (datastores []vc.Ref) {
	for _, d := range vm.Config.Hardware.Device {
		disk, ok := d.(*types.VirtualDisk)
		if !ok || disk.VDiskId == nil {
			continue
		}
		if b, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
			if ds := b.GetVirtualDeviceFileBackingInfo().Datastore; ds != nil {
				datastores = append(datastores, *ds)
			}
		}
	}
	return datastores
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
					InvalidDatastore: types.InvalidDatastore{Datastore: &ds},
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
