package cns

import (
	"slices"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// sighting is a first class disk on a VM, whether or not CNS knows a volume of it.
type sighting struct {
	attachment
	path      string // of its file
	datastore vc.Ref
}

// inspect lists the first class disks of a VM, whose devices are the caller's to read, by id. A disk that has the id of a
// volume and another file is what a clone has: vcsim copies the id with the disk, a vCenter does not, and so it is taken
// away. Disk and list may be in answers that are on their way to clients, and are replaced.
func (m *Manager) inspect(vm *mo.VirtualMachine) map[string]sighting {
	var all map[string]sighting
	for i, d := range vm.Config.Hardware.Device {
		disk, ok := d.(*types.VirtualDisk)
		if !ok || disk.VDiskId == nil {
			continue
		}
		s := sighting{path: fileOf(disk), attachment: attachment{
			vm: vm.Self, name: vm.Name, uuid: vm.Config.Uuid, key: disk.Key, controller: disk.ControllerKey,
		}}
		if disk.UnitNumber != nil {
			s.unit = *disk.UnitNumber
		}
		if b, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok && b.GetVirtualDeviceFileBackingInfo().Datastore != nil {
			s.datastore = *b.GetVirtualDeviceFileBackingInfo().Datastore
		}
		if m.strange(disk.VDiskId.Id, vm.Self, s.path) {
			own := *disk
			own.VDiskId = nil
			vm.Config.Hardware.Device = slices.Clone(vm.Config.Hardware.Device)
			vm.Config.Hardware.Device[i] = &own
			continue
		}
		if all == nil {
			all = make(map[string]sighting)
		}
		all[disk.VDiskId.Id] = s
	}
	return all
}

// strange tells whether a disk on a VM is not the volume whose id it has.
func (m *Manager) strange(id string, vm vc.Ref, path string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.volumes[id]
	return v != nil && v.path != path && !m.own[vm] // a volume that is being moved has another path in a moment
}

// note remembers what first class disks a VM has. The lock is held.
func (m *Manager) note(vm vc.Ref, now map[string]sighting) {
	if len(now) == 0 {
		delete(m.seen, vm)
	} else {
		m.seen[vm] = now
	}
}

// sight notes that a volume that is on none is on the VM that has its disk; false when none has. The lock is held.
func (m *Manager) sight(v *volume) bool {
	at, ok := m.sighted(v.id, v.path)
	if ok {
		m.hang(v, &at.attachment)
	}
	return ok
}

// sighted looks for the VM that has a disk, a volume's or not. The lock is held.
func (m *Manager) sighted(id, path string) (sighting, bool) {
	for _, disks := range m.seen {
		if at, ok := disks[id]; ok && at.path == path {
			return at, true
		}
	}
	return sighting{}, false
}

// moved lists the disks that are no volumes and are in one of two sightings of a VM and not in the other, as consumers wants
// them. The lock is held.
func (m *Manager) moved(was, is map[string]sighting) (all []*volume) {
	for _, pair := range [][2]map[string]sighting{{was, is}, {is, was}} {
		for id, at := range pair[0] {
			if other, both := pair[1][id]; (!both || other.path != at.path) && m.volumes[id] == nil {
				all = append(all, &volume{id: id, path: at.path})
			}
		}
	}
	return all
}
