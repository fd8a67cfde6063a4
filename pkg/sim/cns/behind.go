package cns

import (
	"cmp"
	"context"
	"fmt"

	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Detach removes the volume from its VM, as a user does who edits the VM. A detached volume is an error.
func (m *Manager) Detach(ctx context.Context, id string) error {
	return m.by(ctx, id, func(v *volume) types.BaseMethodFault {
		on := m.attachedTo(v)
		if on == nil {
			return new(types.NotFound)
		}
		return m.takeOff(m.fresh(), v, on.vm, ", by a user who removed the disk there")
	})
}

// Relocate moves the volume to another datastore.
func (m *Manager) Relocate(ctx context.Context, id string, datastore types.ManagedObjectReference) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.wrap(id, m.relocate(m.fresh(), id, datastore, "", ", by a user"))
}

// Forget drops the record of a volume. Its disk stays, also on a VM. See [Manager.Restore].
func (m *Manager) Forget(id string) error {
	v := m.take(id)
	if v == nil {
		return m.wrap(id, new(types.NotFound))
	}
	about := v.about(vc.Ref{})
	m.release(v, func() {
		m.unhang(v)
		m.drop(v)
		m.forgotten[id] = v
	})
	m.log(about, event.Warning, "volume.forgotten", "CNS has lost its record; its disk is %s", v.path)
	return nil
}

// Restore restores the record of a forgotten volume, with the current place of its disk. It does nothing if CNS knows the volume
// again. NotFound: the disk is gone, or the volume was not forgotten.
func (m *Manager) Restore(id string) error {
	ctx := m.fresh()
	d, found := m.findDisk(ctx, id)
	m.mu.Lock()
	v := m.forgotten[id]
	delete(m.forgotten, id)
	known := m.volumes[id] != nil
	switch {
	case known:
		m.mu.Unlock()
		return nil
	case v == nil || !found:
		m.mu.Unlock()
		return m.wrap(id, new(types.NotFound))
	}
	if b, ok := d.Config.Backing.(*types.BaseConfigInfoDiskFileBackingInfo); ok {
		v.datastore, v.path, v.capacity = b.Datastore, b.FilePath, d.Config.CapacityInMB
	}
	m.put(v)
	m.sight(v)
	m.mu.Unlock()
	m.consumers(ctx, v)
	m.log(v.about(vc.Ref{}), event.Info, "volume.registered", "CNS has its record again; its disk is %s", v.path)
	return nil
}

// by runs f with the volume busy.
func (m *Manager) by(ctx context.Context, id string, f func(*volume) types.BaseMethodFault) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	v := m.take(id)
	if v == nil {
		return m.wrap(id, new(types.NotFound))
	}
	defer m.release(v, nil)
	return m.wrap(id, f(v))
}

// wrap returns an error with the fault, or nil.
func (m *Manager) wrap(id string, fault types.BaseMethodFault) error {
	if fault == nil {
		return nil
	}
	return fmt.Errorf("volume %s: %s: %w", id, reasonOf(fault), vc.Fault(fault))
}

// CnsRelocateVolume moves volumes to other datastores, even attached ones.
func (m *Manager) CnsRelocateVolume(_ *simulator.Context, req *cnstypes.CnsRelocateVolume) soap.HasFault {
	ref := m.task("CnsRelocateVolume", func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		if len(req.RelocateSpecs) == 0 {
			return nil, &types.InvalidArgument{InvalidProperty: "relocateSpecs"}
		}
		all := batch()
		for _, base := range req.RelocateSpecs {
			spec := base.GetCnsVolumeRelocateSpec()
			id := spec.VolumeId.Id
			said := m.scripted("CnsRelocateVolume", id, vc.Ref{})
			if said.task != nil {
				return nil, said.task
			}
			fault := said.fault
			if fault == nil && spec.ServiceLocator != nil {
				fault = new(types.NotSupported) // another vCenter
			}
			if fault == nil {
				fault = m.relocate(ctx, id, spec.Datastore, policyOf(spec.Profile), "")
			}
			if fault != nil {
				m.refusedFor(id, "relocation", fault)
			}
			result := outcome(id, fault)
			all.VolumeResults = append(all.VolumeResults, &result)
		}
		return all, nil
	})
	return &methods.CnsRelocateVolumeBody{Res: &cnstypes.CnsRelocateVolumeResponse{Returnval: ref}}
}

// relocate moves a volume to a datastore, and sets a policy if one is named. It succeeds if the volume is there already.
func (m *Manager) relocate(ctx *simulator.Context, id string, ref vc.Ref, policy, how string) types.BaseMethodFault {
	v := m.take(id)
	if v == nil {
		return new(types.NotFound)
	}
	defer m.release(v, nil)
	from, to, fault := m.movable(ctx, v, ref, policy)
	if fault != nil {
		return fault
	}
	was := *v
	path := v.path
	if v.datastore != ref {
		path = m.diskPath(to, v.id)
		if err := to.writeFiles(path, v.capacity); err != nil {
			return because(nil, "Failed to relocate disk: %v", err)
		}
	}
	move := func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		v.datastore, v.path = ref, path
		if policy != "" {
			v.policy = policy
		}
	}
	if on := m.holder(ctx, v); on != nil {
		fault = m.reback(ctx, v, on.vm, to, path, move)
	} else {
		move()
	}
	if fault != nil {
		if path != was.path {
			_ = to.removeFiles(path)
		}
		return fault
	}
	if was.datastore == ref {
		return nil
	}
	m.moveDisk(ctx, &was, v)
	name := was.datastore.Value
	if from != nil {
		name = from.name
		_ = from.removeFiles(was.path)
	}
	m.log(v.about(vc.Ref{}), event.Info, "volume.relocated", "from datastore %s to %s%s", name, to.name, how)
	return nil
}

// movable returns the reason why a busy volume cannot move to a datastore, or nil.
func (m *Manager) movable(ctx *simulator.Context, v *volume, ref vc.Ref, policy string) (from, to *store, _ types.BaseMethodFault) {
	if v.file {
		return nil, nil, new(types.NotSupported)
	}
	from, to = m.store(ctx, v.datastore), m.store(ctx, ref)
	if to == nil {
		return nil, nil, &types.ManagedObjectNotFound{Obj: ref}
	}
	if v.flags.pinned && ref != v.datastore {
		return nil, nil, because(new(types.InvalidState), "Failed to relocate disk: relocation of volume %s is disabled", v.id)
	}
	if len(v.snapshot) > 0 && ref != v.datastore {
		return nil, nil, because(new(types.NotSupported), "Failed to relocate disk: volume %s has snapshots (%d)", v.id, len(v.snapshot))
	}
	policy = cmp.Or(policy, v.policy)
	w := wish{policy: policy}
	if ref != v.datastore {
		w.capacityMB = v.capacity
		if from != nil && len(from.hosts) == 0 {
			return nil, nil, inaccessible(from, "no host reaches it")
		}
	}
	return from, to, m.unfit(to, w)
}

// reback changes the file of the volume's device on a VM, and calls move while the VM is locked.
func (m *Manager) reback(ctx *simulator.Context, v *volume, ref vc.Ref, to *store, path string, move func()) types.BaseMethodFault {
	fault := m.withVM(ctx, ref, func(vm *simulator.VirtualMachine) types.BaseMethodFault {
		if fault := changeable(vm, "relocate"); fault != nil {
			return fault
		}
		if !to.reachedBy(*vm.Runtime.Host) {
			return because(&types.InvalidDatastore{Datastore: &to.ref, Name: to.name},
				"Failed to relocate disk: the host of VM %s does not reach datastore %s", vm.Name, to.name)
		}
		was := v.datastore
		if d := diskOf(vm.Config.Hardware.Device, v.id, v.path); d != nil {
			m.setDevices(ctx, vm, replug(vm.Config.Hardware.Device, d, func(c *types.VirtualDisk) {
				if b, ok := c.Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok {
					moved := *b
					moved.FileName, moved.Datastore = path, &to.ref
					c.Backing = &moved
				}
			}))
			uses(ctx, vm, to.ref)
		}
		move()
		if was != to.ref {
			usesNot(ctx, vm, was)
		}
		return nil
	})
	if _, gone := fault.(*types.ManagedObjectNotFound); gone {
		move()
		return nil
	}
	return fault
}

// moveDisk moves a disk's entry in the catalogue.
func (m *Manager) moveDisk(ctx *simulator.Context, was, is *volume) {
	m.catalogue(ctx, func(all map[vc.Ref]map[types.ID]*disk) {
		key := types.ID{Id: is.id}
		old := all[was.datastore][key]
		if old == nil {
			return
		}
		d := *old
		d.Config.Backing = m.backing(is)
		if all[is.datastore] == nil {
			all[is.datastore] = make(map[types.ID]*disk)
		}
		all[is.datastore][key] = &d
		delete(all[was.datastore], key)
	})
}
