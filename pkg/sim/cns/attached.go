package cns

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// hang notes that the volume is attached. The lock is held.
func (m *Manager) hang(v *volume, a *attachment) {
	m.unhang(v)
	v.on = a
	if m.on[a.vm] == nil {
		m.on[a.vm] = make(map[string]*volume)
	}
	m.on[a.vm][v.id] = v
}

// claim is hang for a disk that is to be put into a VM, whose lock is held; false when it is on one by now: who edits VMs does
// not wait for CNS. What is no volume is only looked for.
func (m *Manager) claim(v *volume, a *attachment) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.volumes[v.id] != v {
		_, taken := m.sighted(v.id, v.path)
		return !taken
	}
	if v.on != nil {
		return false
	}
	on := *a
	m.hang(v, &on)
	return true
}

// unhang notes that the volume is attached to none. The lock is held.
func (m *Manager) unhang(v *volume) {
	if v.on == nil {
		return
	}
	vm := v.on.vm
	delete(m.on[vm], v.id)
	if len(m.on[vm]) == 0 {
		delete(m.on, vm)
	}
	v.on = nil
}

// attachedTo returns a copy of where the volume is attached, nil for nowhere.
func (m *Manager) attachedTo(v *volume) *attachment {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v.on == nil {
		return nil
	}
	a := *v.on
	return &a
}

// holder is attachedTo of a volume that is busy, without VMs that are gone: nobody has told of their end then.
func (m *Manager) holder(ctx *simulator.Context, v *volume) *attachment {
	on := m.attachedTo(v)
	if on == nil || ctx.Map.Get(on.vm) != nil {
		return on
	}
	m.left(on.vm, gone)
	return m.attachedTo(v)
}

// Locked tells whether a disk, as a client describes one to add it to a VM, is that of a volume that another VM has: it
// holds the file.
func (m *Manager) Locked(vm types.ManagedObjectReference, d *types.VirtualDisk) bool {
	path := fileOf(d)
	m.mu.Lock()
	defer m.mu.Unlock()
	for ref, volumes := range m.on {
		if ref == vm {
			continue
		}
		for _, v := range volumes {
			if v.path == path || d.VDiskId != nil && d.VDiskId.Id == v.id && path == "" {
				return true
			}
		}
	}
	return false
}

// owning has the follower leave changes of the VM's devices, whose lock is held, to f's caller.
func (m *Manager) owning(vm vc.Ref, f func()) {
	m.mu.Lock()
	m.own[vm] = true
	m.mu.Unlock()
	f()
	m.mu.Lock()
	delete(m.own, vm)
	m.mu.Unlock()
}
