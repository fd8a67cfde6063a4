package cns

import (
	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// CnsAttachVolume attaches volumes to VMs.
func (m *Manager) CnsAttachVolume(_ *simulator.Context, req *cnstypes.CnsAttachVolume) soap.HasFault {
	ref := m.task("CnsAttachVolume", func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		if len(req.AttachSpecs) == 0 {
			return nil, &types.InvalidArgument{InvalidProperty: "attachSpecs"}
		}
		all := batch()
		for i := range req.AttachSpecs {
			spec := &req.AttachSpecs[i]
			said := m.scripted("CnsAttachVolume", spec.VolumeId.Id, spec.Vm)
			if said.task != nil {
				return nil, said.task
			}
			result := new(cnstypes.CnsVolumeAttachResult)
			fault := said.fault
			if fault == nil {
				result.DiskUUID, fault = m.attach(ctx, spec)
			}
			if fault != nil {
				m.refusedOn(ctx, spec, "attaching it", fault)
			}
			result.CnsVolumeOperationResult = outcome(spec.VolumeId.Id, fault)
			all.VolumeResults = append(all.VolumeResults, result)
		}
		return all, nil
	})
	return &methods.CnsAttachVolumeBody{Res: &cnstypes.CnsAttachVolumeResponse{Returnval: ref}}
}

// attach puts the volume's disk on a VM and returns its UUID.
func (m *Manager) attach(ctx *simulator.Context, spec *cnstypes.CnsVolumeAttachDetachSpec) (uuid string, fault types.BaseMethodFault) {
	if _, ok := ctx.Map.Get(spec.Vm).(*simulator.VirtualMachine); !ok {
		return "", &types.ManagedObjectNotFound{Obj: spec.Vm}
	}
	v := m.take(spec.VolumeId.Id)
	if v == nil {
		return "", new(types.NotFound)
	}
	defer m.release(v, nil)
	if v.file {
		return "", new(types.NotSupported)
	}
	if on := m.holder(ctx, v); on != nil {
		if fault := m.unseen(v.id, on.vm == spec.Vm); fault != nil {
			return "", fault
		}
		return "", inUse() // also when it is that VM: clients look which it is
	}
	on, name, fault := m.plugIn(ctx, v, spec)
	if fault != nil {
		return "", fault
	}
	if fault := m.unseen(v.id, true); fault != nil {
		_, _ = m.pullOut(ctx, v, on.vm) // what keeps it there keeps it unseen: see above
		return "", fault
	}
	m.consumers(ctx, v)
	m.log(v.about(on.vm), event.Info, "volume.attached", "on VM %s, controller %d, unit %d; datastore %s", on.name, on.controller, on.unit, name)
	return v.disk, nil
}

// plugIn puts a disk into a VM, and notes it if the disk is a volume; others cannot do anything to it meanwhile. It returns
// where the disk is, and the name of its datastore.
func (m *Manager) plugIn(ctx *simulator.Context, v *volume, spec *cnstypes.CnsVolumeAttachDetachSpec) (on attachment, datastore string, _ types.BaseMethodFault) {
	if refused, _ := m.disksRefused(ctx, spec.Vm); refused != nil {
		return on, "", refused
	}
	s := m.store(ctx, v.datastore)
	if s != nil {
		datastore = s.name
	}
	fault := m.withVM(ctx, spec.Vm, func(vm *simulator.VirtualMachine) types.BaseMethodFault {
		if fault := changeable(vm, "attach"); fault != nil {
			return fault
		}
		if s == nil || !s.reachedBy(*vm.Runtime.Host) {
			cause := &types.InvalidDatastore{Datastore: &v.datastore, Name: datastore}
			return because(cause, "Failed to attach disk: the VM's host does not reach datastore %s", cause.Name)
		}
		at, ok := freeSlot(vm.Config.Hardware.Device, spec.ControllerKey, spec.UnitNumber)
		if !ok {
			return because(&types.TooManyDevices{InvalidVmConfig: types.InvalidVmConfig{Property: "deviceChange[0].device"}},
				"Failed to attach disk: missing SCSI controller: no slot is free on VM %s", vm.Name)
		}
		devices, d := plug(vm.Config.Hardware.Device, v, at, spec.DiskMode, spec.Sharing)
		on = attachment{vm: vm.Self, name: vm.Name, uuid: vm.Config.Uuid, key: d.Key, controller: at.controller, unit: at.unit}
		if !m.claim(v, &on) {
			return inUse()
		}
		m.setDevices(ctx, vm, devices)
		uses(ctx, vm, v.datastore)
		return nil
	})
	return on, datastore, fault
}

// refusedOn writes that a volume was not attached to a VM, or detached from it; what only tells that it is so already is
// left out.
func (m *Manager) refusedOn(ctx *simulator.Context, spec *cnstypes.CnsVolumeAttachDetachSpec, what string, fault types.BaseMethodFault) {
	m.mu.Lock()
	s := subject{id: spec.VolumeId.Id, vm: spec.Vm}
	v := m.volumes[spec.VolumeId.Id]
	if _, used := fault.(*types.ResourceInUse); used && v != nil && v.on != nil && v.on.vm == spec.Vm {
		m.mu.Unlock()
		return
	}
	if v != nil {
		s.name = v.name
	}
	why := v.reason(fault)
	m.mu.Unlock()
	s.vmName = m.nameOf(ctx, spec.Vm)
	m.refused(s, what, why)
}
