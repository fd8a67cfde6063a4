package cns

import (
	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	content "github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// CnsExtendVolume extends volumes, even attached ones.
func (m *Manager) CnsExtendVolume(_ *simulator.Context, req *cnstypes.CnsExtendVolume) soap.HasFault {
	ref := m.task("CnsExtendVolume", func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		if len(req.ExtendSpecs) == 0 {
			return nil, &types.InvalidArgument{InvalidProperty: "extendSpecs"}
		}
		all := batch()
		for _, spec := range req.ExtendSpecs {
			id := spec.VolumeId.Id
			said := m.scripted("CnsExtendVolume", id, vc.Ref{})
			if said.task != nil {
				return nil, said.task
			}
			fault := said.fault
			if fault == nil {
				fault = m.extend(ctx, id, spec.CapacityInMb)
			}
			if fault != nil {
				m.refusedFor(id, "extension", fault)
			}
			result := outcome(id, fault)
			all.VolumeResults = append(all.VolumeResults, &result)
		}
		return all, nil
	})
	return &methods.CnsExtendVolumeBody{Res: &cnstypes.CnsExtendVolumeResponse{Returnval: ref}}
}

// extend sets the capacity of a volume, in MiB. It succeeds if the volume has it already.
func (m *Manager) extend(ctx *simulator.Context, id string, mb int64) types.BaseMethodFault {
	v := m.take(id)
	if v == nil {
		return new(types.NotFound)
	}
	defer m.release(v, nil)
	was := v.capacity
	fault := m.extensible(ctx, v, mb)
	if fault != nil {
		return fault
	}
	if mb == was {
		return m.grown(v, mb)
	}
	vm := vc.Ref{}
	if on := m.holder(ctx, v); on != nil {
		vm = on.vm
		fault = m.remeasure(ctx, v, on.vm, mb)
	} else {
		fault = m.resize(v, mb)
	}
	if fault != nil {
		return fault
	}
	m.editDisk(ctx, v.id, func(d *disk) { d.Config.CapacityInMB = mb })
	m.mu.Lock()
	v.capacity = mb
	m.mu.Unlock()
	if fault := m.grown(v, mb); fault != nil {
		return fault
	}
	m.log(v.about(vm), event.Info, "volume.extended", "from %s to %s; datastore %s", size(was), size(mb), m.storeName(ctx, v.datastore))
	return nil
}

// grown reports the new size of a disk to its guest.
func (m *Manager) grown(v *volume, mb int64) types.BaseMethodFault {
	if err := m.guestOf(v.id, mb<<20, Guests.Resize); err != nil {
		return because(nil, "Failed to extend disk: the guest does not see its new size: %v", err)
	}
	return nil
}

// extensible returns the reason why a busy volume cannot get that capacity, or nil.
func (m *Manager) extensible(ctx *simulator.Context, v *volume, mb int64) types.BaseMethodFault {
	switch {
	case mb < v.capacity:
		return &types.InvalidArgument{InvalidProperty: "extendSpecs.capacityInMb"}
	case mb == v.capacity || v.file:
		return nil
	case len(v.snapshot) > 0:
		return because(new(types.InvalidState), "Failed to extend disk: volume %s has snapshots (%d)", v.id, len(v.snapshot))
	}
	s := m.store(ctx, v.datastore)
	if s == nil {
		return new(types.NotFound)
	}
	if len(s.hosts) == 0 {
		return inaccessible(s, "no host reaches it")
	}
	if s.free < (mb-v.capacity)<<20 {
		return noSpace(s)
	}
	return nil
}

// resize sets the capacity of the volume's contents.
func (m *Manager) resize(v *volume, mb int64) types.BaseMethodFault {
	dir := m.Dir(v.id)
	if dir == "" || v.file {
		return nil
	}
	if err := content.Resize(dir, mb<<20); err != nil {
		return because(nil, "Failed to extend disk: %v", err)
	}
	return nil
}

// remeasure sets the capacity of the volume's contents and then of its device, because a node reads the contents when it sees the
// device change.
func (m *Manager) remeasure(ctx *simulator.Context, v *volume, on vc.Ref, mb int64) types.BaseMethodFault {
	fault := m.withVM(ctx, on, func(vm *simulator.VirtualMachine) types.BaseMethodFault {
		if fault := changeable(vm, "extend"); fault != nil {
			return fault
		}
		if fault := m.resize(v, mb); fault != nil {
			return fault
		}
		d := diskOf(vm.Config.Hardware.Device, v.id, v.path)
		if d == nil {
			return nil // a user has removed it
		}
		m.setDevices(ctx, vm, replug(vm.Config.Hardware.Device, d, func(c *types.VirtualDisk) {
			measure(c, mb)
			info := types.Description{}
			if c.DeviceInfo != nil {
				info = *c.DeviceInfo.GetDescription()
			}
			info.Summary = summary(c)
			c.DeviceInfo = &info
		}))
		return nil
	})
	if _, gone := fault.(*types.ManagedObjectNotFound); gone {
		return m.resize(v, mb)
	}
	return fault
}
