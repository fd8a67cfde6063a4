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
			case nil, *types.NotFound, *types.ManagedObjectNotFound: // it is not there
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

// detach takes the volume's disk off a VM, which has to be the one that it is on.
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

// takeOff detaches a volume, which is busy, from a VM. how is for the event; empty is by CNS.
func (m *Manager) takeOff(ctx *simulator.Context, v *volume, from vc.Ref, how string) types.BaseMethodFault {
	name, fault := m.pullOut(ctx, v, from)
	if fault != nil {
		return fault
	}
	_ = m.show(v.id) // none is to see it
	m.consumers(ctx, v)
	level := event.Info
	if how != "" {
		level = event.Warning
	}
	m.log(v.about(from), level, "volume.detached", "from VM %s%s; datastore %s", name, how, m.storeName(ctx, v.datastore))
	return nil
}

// pullOut takes a volume's disk, which is busy, out of a VM, and returns the VM's name.
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
