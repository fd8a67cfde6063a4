package cns

import (
	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// CnsDetachVolume detaches volumes from VMs.
func (m *Manager) CnsDetachVolume(_ *simulator.Context, req *cnstypes.CnsDetachVolume) soap.HasFault {
	ref := m.task("CnsDetachVolume", func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		if len(req.DetachSpecs) == 0 {
			return nil, &types.InvalidArgument{InvalidProperty: "detachSpecs"}
		}
		all := batch()
		for i := range req.DetachSpecs {
			spec := &req.DetachSpecs[i]
			said := m.scripted("CnsDetachVolume", spec.VolumeId.Id, spec.Vm)
			if said.task != nil {
				return nil, said.task
			}
			fault := said.fault
			if fault == nil {
				fault = m.detach(ctx, spec)
			}
			switch fault.(type) {
			case nil, *types.NotFound, *types.ManagedObjectNotFound: // it is gone
			default:
				m.refusedOn(ctx, spec, "detaching it", fault)
			}
			result := outcome(spec.VolumeId.Id, fault)
			all.VolumeResults = append(all.VolumeResults, &result)
		}
		return all, nil
	})
	return &methods.CnsDetachVolumeBody{Res: &cnstypes.CnsDetachVolumeResponse{Returnval: ref}}
}

// detach removes the volume's disk from a VM, which must be its VM.
func (m *Manager) detach(ctx *simulator.Context, spec *cnstypes.CnsVolumeAttachDetachSpec) types.BaseMethodFault {
	if _, ok := ctx.Map.Get(spec.Vm).(*simulator.VirtualMachine); !ok {
		return &types.ManagedObjectNotFound{Obj: spec.Vm}
	}
	if _, refused := m.disksRefused(ctx, spec.Vm); refused != nil {
		return refused
	}
	v := m.take(spec.VolumeId.Id)
	if v == nil {
		return new(types.NotFound)
	}
	defer m.release(v, nil)
	return m.takeOff(ctx, v, spec.Vm, "")
}

// takeOff detaches a busy volume from a VM. how is appended to the event; empty: by CNS.
func (m *Manager) takeOff(ctx *simulator.Context, v *volume, from vc.Ref, how string) types.BaseMethodFault {
	name, fault := m.pullOut(ctx, v, from)
	if fault != nil {
		return fault
	}
	_ = m.show(v.id) // no guest may see it
	m.consumers(ctx, v)
	level := event.Info
	if how != "" {
		level = event.Warning
	}
	m.log(v.about(from), level, "volume.detached", "from VM %s%s; datastore %s", name, how, m.storeName(ctx, v.datastore))
	return nil
}

// pullOut removes a busy volume's disk from a VM, and returns the VM's name.
func (m *Manager) pullOut(ctx *simulator.Context, v *volume, from vc.Ref) (name string, fault types.BaseMethodFault) {
	fault = m.withVM(ctx, from, func(vm *simulator.VirtualMachine) types.BaseMethodFault {
		if on := m.attachedTo(v); on == nil || on.vm != from {
			return new(types.NotFound)
		}
		if fault := changeable(vm, "detach"); fault != nil {
			return fault
		}
		name = vm.Name
		if d := diskOf(vm.Config.Hardware.Device, v.id, v.path); d != nil {
			m.setDevices(ctx, vm, unplug(vm.Config.Hardware.Device, d))
		}
		usesNot(ctx, vm, v.datastore)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.unhang(v)
		return nil
	})
	return name, fault
}

// CnsDeleteVolume deletes a volume, and its disk if requested.
func (m *Manager) CnsDeleteVolume(_ *simulator.Context, req *cnstypes.CnsDeleteVolume) soap.HasFault {
	ref := m.task("CnsDeleteVolume", func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		if len(req.VolumeIds) == 0 {
			return nil, &types.InvalidArgument{InvalidProperty: "volumeIds"}
		}
		all := batch()
		for _, id := range req.VolumeIds {
			said := m.scripted("CnsDeleteVolume", id.Id, vc.Ref{})
			if said.task != nil {
				return nil, said.task
			}
			fault := said.fault
			if fault == nil {
				fault = m.remove(ctx, id.Id, req.DeleteDisk, "")
			}
			if _, gone := fault.(*types.NotFound); fault != nil && !gone {
				m.refusedFor(id.Id, "deletion", fault)
			}
			result := outcome(id.Id, fault)
			all.VolumeResults = append(all.VolumeResults, &result)
		}
		return all, nil
	})
	return &methods.CnsDeleteVolumeBody{Res: &cnstypes.CnsDeleteVolumeResponse{Returnval: ref}}
}

// remove deletes a volume without attachment and snapshots. how is appended to the event.
func (m *Manager) remove(ctx *simulator.Context, id string, withDisk bool, how string) types.BaseMethodFault {
	v := m.take(id)
	if v == nil {
		return new(types.NotFound)
	}
	fault := m.removable(ctx, v, withDisk)
	if fault != nil {
		m.release(v, nil)
		return fault
	}
	left := ", its disk stays"
	if withDisk {
		left = ""
		if !v.file {
			m.dropDisk(ctx, v.datastore, v.id)
			if s := m.store(ctx, v.datastore); s != nil {
				_ = s.removeFiles(v.path) // no record refers to them
			}
		}
		_ = m.removeContent(v.id)
	}
	m.release(v, func() { m.drop(v) })
	m.log(v.about(vc.Ref{}), event.Info, "volume.deleted", "deleted from datastore %s%s%s", m.storeName(ctx, v.datastore), how, left)
	return nil
}

// removable returns the reason why a busy volume cannot be deleted, or nil.
func (m *Manager) removable(ctx *simulator.Context, v *volume, withDisk bool) types.BaseMethodFault {
	if m.holder(ctx, v) != nil {
		return inUse()
	}
	if len(v.snapshot) > 0 {
		return because(new(types.InvalidState), "Failed to delete disk: volume %s has snapshots (%d)", v.id, len(v.snapshot))
	}
	if withDisk && !v.file {
		if s := m.store(ctx, v.datastore); s != nil && len(s.hosts) == 0 {
			return inaccessible(s, "no host reaches it")
		}
	}
	return nil
}

// refusedFor logs that an operation on a volume failed.
func (m *Manager) refusedFor(id, what string, fault types.BaseMethodFault) {
	m.mu.Lock()
	s := subject{id: id}
	v := m.volumes[id]
	if v != nil {
		s.name = v.name
		if v.on != nil {
			s.vm = v.on.vm
		}
	}
	why := v.reason(fault)
	m.mu.Unlock()
	m.refused(s, what, why)
}
