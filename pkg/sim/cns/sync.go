package cns

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/cns"
	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// CnsSyncVolume synchronizes volumes with vSphere's catalogue of disks.
func (m *Manager) CnsSyncVolume(_ *simulator.Context, req *cnstypes.CnsSyncVolume) soap.HasFault {
	const method = "CnsSyncVolume"
	return &methods.CnsSyncVolumeBody{Res: &cnstypes.CnsSyncVolumeResponse{
		Returnval: m.task(method, func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault) {
			return eachPlain(m, method, req.SyncSpecs, func(s *cnstypes.CnsSyncVolumeSpec) string { return s.VolumeId.Id },
				func(s *cnstypes.CnsSyncVolumeSpec) types.BaseMethodFault { return m.sync(ctx, s.VolumeId.Id) })
		}),
	}}
}

// sync updates the record of a volume from the catalogue. It drops a volume without a disk, and returns NotFound.
func (m *Manager) sync(ctx *simulator.Context, id string) types.BaseMethodFault {
	v := m.take(id)
	if v == nil {
		return new(types.NotFound)
	}
	if v.file {
		m.release(v, nil)
		return nil
	}
	d, found := m.findDisk(ctx, id)
	switch {
	case found:
		m.release(v, func() { v.adopt(&d) })
		return nil
	case m.attachedTo(v) != nil:
		m.release(v, nil)
		return inUse()
	}
	about := v.about(vc.Ref{})
	m.release(v, func() { m.drop(v) })
	m.log(about, event.Warning, "volume.lost", "its disk is gone: CNS forgets it")
	return new(types.NotFound)
}

// adopt copies the catalogue's entry. The caller holds the lock.
func (v *volume) adopt(d *disk) {
	v.capacity = d.Config.CapacityInMB
	known := v.snapshot
	v.snapshot = nil
	for _, s := range d.Snapshots {
		if s.Id == nil {
			continue
		}
		mine := snapshot{id: s.Id.Id, description: s.Description, created: s.CreateTime, capacity: v.capacity, size: 1}
		for _, k := range known {
			if k.id == mine.id {
				mine = k
			}
		}
		v.snapshot = append(v.snapshot, mine)
	}
}

// debugManager is CNS's CnsDebugManager, at the same endpoint.
type debugManager struct {
	types.ManagedObjectReference
	m *Manager
}

func newDebugManager(m *Manager) *debugManager {
	return &debugManager{ManagedObjectReference: cns.CnsDebugManagerInstance, m: m}
}

// CnsSyncDatastore is CnsSyncVolume for the volumes of a datastore, or of all if the URL is empty. InvalidArgument: no datastore
// has the URL.
func (d *debugManager) CnsSyncDatastore(_ *simulator.Context, req *cnstypes.CnsSyncDatastore) soap.HasFault {
	return &methods.CnsSyncDatastoreBody{Res: &cnstypes.CnsSyncDatastoreResponse{
		Returnval: d.m.task("CnsSyncDatastore", func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault) {
			return nil, d.m.syncDatastore(ctx, req.DatastoreUrl)
		}),
	}}
}

func (m *Manager) syncDatastore(ctx *simulator.Context, url string) types.BaseMethodFault {
	found := url == ""
	wanted := make(map[vc.Ref]bool)
	for _, obj := range ctx.Map.AllReference("Datastore") {
		if s := m.store(ctx, obj.Reference()); s != nil && (url == "" || s.url == url) {
			wanted[s.ref], found = true, true
		}
	}
	if !found {
		return &types.InvalidArgument{InvalidProperty: "datastoreUrl"}
	}
	for _, v := range m.Volumes() {
		if wanted[v.Datastore] {
			_ = m.sync(ctx, v.ID) // the record has the result
		}
	}
	return nil
}

// follower notices changes of volumes on VMs without CNS: devices that clients remove or add, and VMs that are removed. vcsim
// calls it with the VM locked.
type follower struct {
	ref vc.Ref
	m   *Manager
}

func newFollower(m *Manager) *follower {
	return &follower{ref: vc.Ref{Type: "SandboxVolumes", Value: "sandbox-volumes"}, m: m}
}

// Reference implements simulator.RegisterObject.
func (f *follower) Reference() vc.Ref { return f.ref }

// PutObject implements simulator.RegisterObject. A VM gets its devices afterward, unless it is loaded.
func (f *follower) PutObject(_ *simulator.Context, obj mo.Reference) {
	if vm, ok := obj.(*simulator.VirtualMachine); ok && vm.Config != nil && len(vm.Config.Hardware.Device) > 0 {
		f.m.compare(&vm.VirtualMachine)
	}
}

// UpdateObject implements simulator.RegisterObject.
func (f *follower) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	vm, ok := obj.(*mo.VirtualMachine)
	if ok {
		f.m.followFiles(vm, changes)
	}
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
		delete(f.m.seen, ref) // before its volumes are detached: one registered now must not be found there
		f.m.mu.Unlock()
		f.m.left(ref, gone)
		f.m.mu.Lock()
		others := f.m.moved(had, nil)
		f.m.mu.Unlock()
		f.m.reconsume(others)
		f.m.showLater(between(had, nil))
	}
}

// The reasons why a VM loses its volumes.
const (
	gone      = "it is not in the inventory any more"
	destroyed = "it was destroyed"
)

// Destroying must be called for a VM, whose lock is held, before its first-class disks are detached because it is being
// destroyed.
func (m *Manager) Destroying(vm types.ManagedObjectReference) { m.left(vm, destroyed) }

// left detaches all volumes from a VM that is removed. Those without the keep flag are deleted with a destroyed VM; an
// unregistered VM keeps its files.
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
				m.consumers(ctx, l.v) // a volume that cannot be deleted stays, detached
			}
		}
	})
}

// compare updates the volumes of a VM after a change of its devices.
func (m *Manager) compare(vm *mo.VirtualMachine) {
	if vm.Config == nil {
		return
	}
	now := m.inspect(vm)
	m.mu.Lock()
	others, differ := m.moved(m.seen[vm.Self], now), between(m.seen[vm.Self], now)
	m.note(vm.Self, now)
	if m.own[vm.Self] { // the operation that changes the VM also shows the disk
		m.mu.Unlock()
		return
	}
	var gained, lost []*volume
	var from []vc.Ref // the datastores of the lost volumes: they may be relocated before the VM is changed
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
		m.log(v.about(vm.Self), event.Warning, "volume.detached", "from VM %s, by a user who removed the disk there", vm.Name)
	}
	for _, v := range gained {
		m.log(v.about(vm.Self), event.Warning, "volume.attached", "on VM %s, by a user who added the disk there", vm.Name)
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

// reconsume calls consumers for several disks, in the background.
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

// leave removes datastores from the list of a VM that has lost volumes there.
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

// sighting is a first-class disk on a VM, known to CNS or not.
type sighting struct {
	attachment
	path      string // of its file
	datastore vc.Ref
}

// inspect returns the first-class disks of a VM by ID. The caller may read the VM's devices. A disk with a volume's ID and
// another file belongs to a clone: vcsim copies the ID, a vCenter does not, so inspect removes it. It replaces disk and list,
// because answers to clients may hold them.
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

// strange reports whether a disk on a VM is not the volume with its ID.
func (m *Manager) strange(id string, vm vc.Ref, path string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.volumes[id]
	return v != nil && v.path != path && !m.own[vm] // the path of a moving volume is about to change
}

// note records the first-class disks of a VM. The caller holds the lock.
func (m *Manager) note(vm vc.Ref, now map[string]sighting) {
	if len(now) == 0 {
		delete(m.seen, vm)
	} else {
		m.seen[vm] = now
	}
}

// sight records that a detached volume is on the VM that has its disk; false if no VM has. The caller holds the lock.
func (m *Manager) sight(v *volume) bool {
	at, ok := m.sighted(v.id, v.path)
	if ok {
		m.hang(v, &at.attachment)
	}
	return ok
}

// sighted returns the VM that has a disk. The caller holds the lock.
func (m *Manager) sighted(id, path string) (sighting, bool) {
	for _, disks := range m.seen {
		if at, ok := disks[id]; ok && at.path == path {
			return at, true
		}
	}
	return sighting{}, false
}

// moved lists the disks without volumes that are in exactly one of two sightings of a VM, for consumers. The caller holds the
// lock.
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
