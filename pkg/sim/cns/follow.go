package cns

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// follower notices what becomes of volumes on VMs without CNS: a device that somebody removes, or adds, and VMs that go
// away. vcsim calls it with the VM locked.
type follower struct {
	ref vc.Ref
	m   *Manager
}

func newFollower(m *Manager) *follower {
	return &follower{ref: vc.Ref{Type: "SandboxVolumes", Value: "sandbox-volumes"}, m: m}
}

// Reference implements simulator.RegisterObject.
func (f *follower) Reference() vc.Ref { return f.ref }

// PutObject implements simulator.RegisterObject: a VM gets its devices after that, but for one that is loaded.
func (f *follower) PutObject(_ *simulator.Context, obj mo.Reference) {
	if vm, ok := obj.(*simulator.VirtualMachine); ok && vm.Config != nil && len(vm.Config.Hardware.Device) > 0 {
		f.m.compare(&vm.VirtualMachine)
	}
}

// UpdateObject implements simulator.RegisterObject.
func (f *follower) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	vm, ok := obj.(*mo.VirtualMachine)
	if ok && slices.ContainsFunc(changes, func(c types.PropertyChange) bool {
		return c.Name == "config" || c.Name == "config.hardware" || strings.HasPrefix(c.Name, "config.hardware.device")
	}) {
		f.m.compare(vm)
	}
}

// RemoveObject implements simulator.RegisterObject.
func (f *follower) RemoveObject(_ *simulator.Context, ref vc.Ref) {
	if ref.Type == "VirtualMachine" {
		f.m.mu.Lock()
		had := f.m.seen[ref]
		delete(f.m.seen, ref) // before its volumes leave it: one that is registered meanwhile is not to be found there
		f.m.mu.Unlock()
		f.m.left(ref, gone)
		f.m.mu.Lock()
		others := f.m.moved(had, nil)
		f.m.mu.Unlock()
		f.m.reconsume(others)
		f.m.showLater(between(had, nil))
	}
}

// Why a VM has no volumes any more.
const (
	gone      = "it is not in the inventory any more"
	destroyed = "it was destroyed"
)

// Destroying is to be told of a VM, whose lock is held, before its first class disks are taken off it because it is being
// destroyed.
func (m *Manager) Destroying(vm types.ManagedObjectReference) { m.left(vm, destroyed) }

// left detaches all volumes from a VM that goes away. Those that are not to outlive it go with it when it is destroyed; a VM
// that is unregistered leaves all its files.
func (m *Manager) left(ref vc.Ref, why string) {
	type lost struct {
		v    *volume
		vm   string
		keep bool
	}
	var all []lost
	m.mu.Lock()
	for _, v := range m.on[ref] {
		all = append(all, lost{v, v.on.name, v.keep})
	}
	for _, l := range all {
		m.unhang(l.v)
	}
	m.mu.Unlock()
	if len(all) == 0 {
		return
	}
	slices.SortFunc(all, func(a, b lost) int { return strings.Compare(a.v.id, b.v.id) })
	for _, l := range all {
		m.log(l.v.about(ref), event.Warning, "volume.detached", "from VM %s: %s", l.vm, why)
	}
	m.later(func() {
		ctx := m.fresh()
		for _, l := range all {
			if l.keep || why != destroyed || m.remove(ctx, l.v.id, true, " with VM "+l.vm) != nil {
				m.consumers(ctx, l.v) // what cannot be deleted stays, detached
			}
		}
	})
}

// compare brings what is known of a VM's volumes in line with its devices, after they have changed.
func (m *Manager) compare(vm *mo.VirtualMachine) {
	if vm.Config == nil {
		return
	}
	now := m.inspect(vm)
	m.mu.Lock()
	others, differ := m.moved(m.seen[vm.Self], now), between(m.seen[vm.Self], now)
	m.note(vm.Self, now)
	if m.own[vm.Self] { // whoever changes the VM shows the disk as well
		m.mu.Unlock()
		return
	}
	var gained, lost []*volume
	var from []vc.Ref // datastores that the lost volumes are on now: they may be relocated before the VM is changed
	for id, v := range m.on[vm.Self] {
		if at, has := now[id]; has && at.path == v.path {
			*v.on = at.attachment
		} else {
			lost = append(lost, v)
		}
	}
	for _, v := range lost {
		from = append(from, v.datastore)
		m.unhang(v)
		m.sight(v)
	}
	for id := range now {
		if v := m.volumes[id]; v != nil && v.on == nil && m.sight(v) {
			gained = append(gained, v)
		}
	}
	m.mu.Unlock()
	for _, v := range lost {
		m.log(v.about(vm.Self), event.Warning, "volume.detached", "from VM %s, by somebody who removed the disk there", vm.Name)
	}
	for _, v := range gained {
		m.log(v.about(vm.Self), event.Warning, "volume.attached", "on VM %s, by somebody who added the disk there", vm.Name)
	}
	m.reconsume(others)
	m.showLater(differ)
	if len(lost)+len(gained) == 0 {
		return
	}
	m.later(func() {
		ctx := m.fresh()
		m.leave(ctx, vm.Self, from)
		for _, v := range lost {
			m.consumers(ctx, v)
		}
		for _, v := range gained {
			m.consumers(ctx, v)
		}
	})
}

// reconsume is consumers of several disks, later.
func (m *Manager) reconsume(disks []*volume) {
	if len(disks) == 0 {
		return
	}
	m.later(func() {
		ctx := m.fresh()
		for _, d := range disks {
			m.consumers(ctx, d)
		}
	})
}

// leave takes datastores off those that a VM uses, which has lost volumes there.
func (m *Manager) leave(ctx *simulator.Context, ref vc.Ref, datastores []vc.Ref) {
	if len(datastores) == 0 {
		return
	}
	_ = m.withVM(ctx, ref, func(vm *simulator.VirtualMachine) types.BaseMethodFault {
		for _, on := range datastores {
			if vm.Config != nil {
				usesNot(ctx, vm, on)
			}
		}
		return nil
	})
}
