package cns

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Detach takes the volume off the VM that it is on, as somebody does who edits the VM. On none is an error.
func (m *Manager) Detach(ctx context.Context, id string) error {
	return m.by(ctx, id, func(v *volume) types.BaseMethodFault {
		on := m.attachedTo(v)
		if on == nil {
			return new(types.NotFound)
		}
		return m.takeOff(m.fresh(), v, on.vm, ", by somebody who removed the disk there")
	})
}

// Relocate moves the volume to another datastore.
func (m *Manager) Relocate(ctx context.Context, id string, datastore types.ManagedObjectReference) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.wrap(id, m.relocate(m.fresh(), id, datastore, "", ", by somebody"))
}

// Forget drops the record of a volume. Its disk stays, on the VM that it is on. See [Manager.Recall].
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

// Recall brings the record of a volume back that was forgotten, with all that was in it; where the disk is by now counts. A
// volume that CNS has learned of anew meanwhile is left alone. NotFound: its disk is gone, or it was not forgotten.
func (m *Manager) Recall(id string) error {
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

// by does something to a volume that is busy with it.
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

// wrap makes an error of a fault, nil of none.
func (m *Manager) wrap(id string, fault types.BaseMethodFault) error {
	if fault == nil {
		return nil
	}
	return fmt.Errorf("volume %s: %s: %w", id, reasonOf(fault), vc.Fault(fault))
}
