package cns

import (
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// followFiles moves the volumes on a VM, whose lock is held, to the datastore that its files have moved to: storage vMotion takes all
// disks of a VM along. It does so in the background. A volume that cannot move stays, with an event.
func (m *Manager) followFiles(vm *mo.VirtualMachine, changes []types.PropertyChange) {
	var home object.DatastorePath
	moved := slices.ContainsFunc(changes, func(c types.PropertyChange) bool { return c.Name == "config.files" })
	if !moved || vm.Config == nil || !home.FromString(vm.Config.Files.VmPathName) {
		return
	}
	type on struct{ id, vm string }
	var all []on
	m.mu.Lock()
	for _, v := range m.on[vm.Self] {
		all = append(all, on{v.id, v.on.name})
	}
	m.mu.Unlock()
	candidates := slices.Clone(vm.Datastore)
	if len(all) == 0 {
		return
	}
	m.later(func() {
		ctx := m.fresh()
		for _, ref := range candidates {
			s := m.store(ctx, ref)
			if s == nil || s.name != home.Datastore {
				continue
			}
			for _, v := range all {
				if fault := m.relocate(ctx, v.id, ref, "", ", with VM "+v.vm); fault != nil {
					m.log(subject{id: v.id, name: m.volumeName(v.id), vm: vm.Self}, event.Warning, "volume.refused", "does not move with VM %s: %s", v.vm, reasonOf(fault))
				}
			}
		}
	})
}
