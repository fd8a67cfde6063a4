package cns

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	content "github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// makingKey identifies a volume that is being created: by name and container cluster, or by the requested ID.
type makingKey struct{ name, cluster, id string }

// CnsCreateVolume creates a volume, or registers an existing disk. It is idempotent by name within a container cluster: a second
// call returns the existing volume.
func (m *Manager) CnsCreateVolume(_ *simulator.Context, req *cnstypes.CnsCreateVolume) soap.HasFault {
	ref := m.task("CnsCreateVolume", func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		if len(req.CreateSpecs) != 1 {
			return nil, &types.InvalidArgument{InvalidProperty: "createSpecs"} // as vCenter does
		}
		spec := &req.CreateSpecs[0]
		said := m.scripted("CnsCreateVolume", spec.Name, vc.Ref{})
		if said.task != nil {
			return nil, said.task
		}
		result := &cnstypes.CnsVolumeCreateResult{Name: spec.Name}
		fault := said.fault
		if fault == nil {
			fault = m.create(ctx, spec, result)
		}
		if fault != nil {
			result.Fault = localized(fault)
			if !known(fault) {
				m.refused(subject{name: spec.Name}, "creation", reasonOf(fault))
			}
		}
		return batch(result), nil
	})
	return &methods.CnsCreateVolumeBody{Res: &cnstypes.CnsCreateVolumeResponse{Returnval: ref}}
}

// known reports whether a creation failed because the volume exists.
func known(fault types.BaseMethodFault) bool {
	switch fault.(type) {
	case *cnstypes.CnsAlreadyRegisteredFault, *cnstypes.CnsVolumeAlreadyExistsFault:
		return true
	}
	return false
}

// create executes a spec and fills in the result.
func (m *Manager) create(ctx *simulator.Context, spec *cnstypes.CnsVolumeCreateSpec, result *cnstypes.CnsVolumeCreateResult) types.BaseMethodFault {
	if spec.Name == "" {
		return &types.InvalidArgument{InvalidProperty: "createSpecs.name"}
	}
	if spec.VolumeType == string(cnstypes.CnsVolumeTypeFile) {
		return m.createFile(ctx, spec, result)
	}
	details, ok := spec.BackingObjectDetails.(*cnstypes.CnsBlockBackingDetails)
	if !ok {
		return &types.InvalidArgument{InvalidProperty: "createSpecs.backingObjectDetails"}
	}
	if details.BackingDiskId == "" && details.BackingDiskUrlPath != "" {
		id, fault := m.diskAt(ctx, details.BackingDiskUrlPath)
		if fault != nil {
			return fault
		}
		own := *details
		own.BackingDiskId, details = id, &own
	}
	key := makingKey{name: spec.Name, cluster: clusterOf(spec.Metadata)}
	switch {
	case details.BackingDiskId != "":
		key = makingKey{id: details.BackingDiskId}
	case spec.VolumeId != nil:
		key = makingKey{id: spec.VolumeId.Id}
	}
	made, done := m.make(key)
	if made != nil {
		return m.again(made, details, result)
	}
	defer done()
	if details.BackingDiskId != "" {
		return m.register(ctx, spec, details.BackingDiskId, result)
	}
	return m.createBlock(ctx, spec, details, result)
}

// make waits until no other call creates a volume with that key, and returns the existing volume. If it returns nil, the caller
// creates it, and then calls done.
func (m *Manager) make(key makingKey) (is *volume, done func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		if is := m.named(key); is != nil {
			if is.busy == nil {
				return is, nil
			}
			m.await(is.busy) // it may be about to be deleted
			continue
		}
		if other := m.making[key]; other != nil {
			m.await(other)
			continue
		}
		ended := make(chan struct{})
		m.making[key] = ended
		return nil, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(m.making, key)
			close(ended)
		}
	}
}

// await waits for c without the lock, which is held before and after.
func (m *Manager) await(c <-chan struct{}) {
	m.mu.Unlock()
	defer m.mu.Lock()
	<-c
}

// named returns the volume with a key. The caller holds the lock.
func (m *Manager) named(key makingKey) *volume {
	if key.id != "" {
		return m.volumes[key.id]
	}
	for _, v := range m.order {
		if v.name == key.name && len(v.metadata) > 0 && v.metadata[0].ContainerCluster.ClusterId == key.cluster {
			return v
		}
	}
	return nil
}

// again returns the result for an existing volume.
func (m *Manager) again(v *volume, details *cnstypes.CnsBlockBackingDetails, result *cnstypes.CnsVolumeCreateResult) types.BaseMethodFault {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := cnstypes.CnsVolumeId{Id: v.id}
	result.VolumeId = id
	switch {
	case details.BackingDiskId != "":
		return &cnstypes.CnsAlreadyRegisteredFault{VolumeId: id}
	case v.name != result.Name:
		return &cnstypes.CnsVolumeAlreadyExistsFault{VolumeId: id, Datastore: v.datastore}
	}
	result.PlacementResults = []cnstypes.CnsPlacementResult{{Datastore: v.datastore}}
	return nil
}

// createBlock creates a volume with a new disk.
func (m *Manager) createBlock(ctx *simulator.Context, spec *cnstypes.CnsVolumeCreateSpec, details *cnstypes.CnsBlockBackingDetails, result *cnstypes.CnsVolumeCreateResult) types.BaseMethodFault {
	if details.CapacityInMb <= 0 {
		return &types.InvalidArgument{InvalidProperty: "createSpecs.backingObjectDetails.capacityInMb"}
	}
	wanted := spec.VolumeId != nil && spec.VolumeId.Id != ""
	if wanted {
		if d, there := m.findDisk(ctx, spec.VolumeId.Id); there { // a disk without a volume
			return &cnstypes.CnsVolumeAlreadyExistsFault{
				VolumeId: *spec.VolumeId, Datastore: d.Config.Backing.GetBaseConfigInfoBackingInfo().Datastore,
			}
		}
	}
	from, release, fault := m.source(spec, details.CapacityInMb)
	if fault != nil {
		return fault
	}
	defer release()
	policy := policyOf(spec.Profile)
	to, placements, fault := m.place(ctx, wish{
		allowed: spec.Datastores, capacityMB: details.CapacityInMb, policy: policy, near: from.datastore,
	})
	result.PlacementResults = placements
	if fault != nil {
		return fault
	}

	m.mu.Lock()
	v := &volume{
		name: spec.Name, metadata: split(spec.Metadata), capacity: details.CapacityInMb,
		datastore: to.ref, policy: policy, created: m.opts.Now(), keep: true,
	}
	if wanted {
		v.id = spec.VolumeId.Id
		m.used[v.id] = true
	} else {
		v.id = m.newID(spec.Name, clusterOf(spec.Metadata))
	}
	m.mu.Unlock()
	v.disk, v.path = m.diskUUID(v.id), m.diskPath(to, v.id)

	if err := m.fill(v, from.dir); err != nil {
		return because(nil, "Failed to create disk: %v", err)
	}
	if err := to.writeFiles(v.path, v.capacity); err != nil {
		_ = m.removeContent(v.id) // no record refers to it
		return because(nil, "Failed to create disk: %v", err)
	}
	m.putDisk(ctx, m.newDisk(v))
	m.mu.Lock()
	m.put(v)
	m.mu.Unlock()
	result.VolumeId = cnstypes.CnsVolumeId{Id: v.id}
	m.log(v.about(vc.Ref{}), event.Info, "volume.created", "made on datastore %s%s: %s, id %s", to.name, from.words, size(v.capacity), v.id)
	return nil
}

// origin is the source of a volume; zero for an empty one.
type origin struct {
	datastore vc.Ref
	dir       string // of its contents; empty: no contents
	words     string
}

// source returns the snapshot from which a volume is created, and keeps it from changing until release.
func (m *Manager) source(spec *cnstypes.CnsVolumeCreateSpec, capacityMB int64) (o origin, release func(), _ types.BaseMethodFault) {
	if spec.VolumeSource == nil {
		return o, func() {}, nil
	}
	src, ok := spec.VolumeSource.(*cnstypes.CnsSnapshotVolumeSource)
	if !ok {
		return o, nil, &types.InvalidArgument{InvalidProperty: "createSpecs.volumeSource"}
	}
	v := m.take(src.VolumeId.Id)
	if v == nil {
		return o, nil, new(types.NotFound)
	}
	release = func() { m.release(v, nil) }
	for _, s := range v.snapshot {
		if s.id != src.SnapshotId.Id {
			continue
		}
		if s.capacity != capacityMB {
			release()
			return o, nil, &types.InvalidArgument{InvalidProperty: "createSpecs.backingObjectDetails.capacityInMb"}
		}
		o.datastore, o.dir = v.datastore, m.snapshotDir(v.id, s.id)
		o.words = fmt.Sprintf(" from a snapshot of %s", v.name)
		return o, release, nil
	}
	release()
	return o, nil, &cnstypes.CnsSnapshotNotFoundFault{VolumeId: src.VolumeId, SnapshotId: src.SnapshotId}
}

// fill creates the volume's contents: empty, or a copy of a directory.
func (m *Manager) fill(v *volume, from string) error {
	dir := m.Dir(v.id)
	switch {
	case dir == "":
		return nil
	case from == "":
		return content.Create(dir, v.capacity<<20)
	}
	return m.copyContent(from, dir)
}

// newDisk returns the catalogue's entry for a new volume.
func (m *Manager) newDisk(v *volume) *disk {
	no := func() *bool { return new(false) }
	d := new(disk)
	d.Config = types.VStorageObjectConfigInfo{
		BaseConfigInfo: types.BaseConfigInfo{
			Id: types.ID{Id: v.id}, Name: v.name, CreateTime: v.created, KeepAfterDeleteVm: new(v.keep),
			RelocationDisabled: no(), NativeSnapshotSupported: no(), ChangedBlockTrackingEnabled: no(),
			Backing: m.backing(v),
		},
		CapacityInMB: v.capacity, ConsumptionType: []string{"disk"},
	}
	return d
}

// backing returns the place of a volume's disk for the catalogue.
func (m *Manager) backing(v *volume) *types.BaseConfigInfoDiskFileBackingInfo {
	b := &types.BaseConfigInfoDiskFileBackingInfo{ProvisioningType: string(types.BaseConfigInfoDiskFileBackingInfoProvisioningTypeThin)}
	b.Datastore, b.FilePath, b.BackingObjectId = v.datastore, v.path, uuid.NewSHA1(uuid.NameSpaceOID, []byte(v.id)).String()
	return b
}

// policyOf returns the ID of the storage policy in a spec, or "".
func policyOf(profile []types.BaseVirtualMachineProfileSpec) string {
	for _, p := range profile {
		if defined, ok := p.(*types.VirtualMachineDefinedProfileSpec); ok {
			return defined.ProfileId
		}
	}
	return ""
}

// size formats a capacity in MiB.
func size(mb int64) string {
	if mb%1024 == 0 {
		return fmt.Sprintf("%d GiB", mb/1024)
	}
	return fmt.Sprintf("%d MiB", mb)
}

// wish is a request for space on a datastore.
type wish struct {
	allowed    []vc.Ref // empty: all
	capacityMB int64
	policy     string
	near       vc.Ref // preferred; zero: none
}

// place chooses a datastore: among those that can hold the volume, the one with the most unpromised space. The placements report
// why the others were rejected. Of several reasons it returns the fault that a user can resolve most easily.
func (m *Manager) place(ctx *simulator.Context, w wish) (*store, []cnstypes.CnsPlacementResult, types.BaseMethodFault) {
	refs := w.allowed
	if len(refs) == 0 {
		for _, obj := range ctx.Map.AllReference("Datastore") {
			refs = append(refs, obj.Reference())
		}
		slices.SortFunc(refs, func(a, b vc.Ref) int {
			return cmp.Or(cmp.Compare(len(a.Value), len(b.Value)), cmp.Compare(a.Value, b.Value))
		})
	}
	promised := m.promised()
	var best *store
	var room int64
	var failed []cnstypes.CnsPlacementResult
	var worst types.BaseMethodFault
	for _, ref := range refs {
		s := m.store(ctx, ref)
		if s == nil {
			return nil, nil, &types.ManagedObjectNotFound{Obj: ref}
		}
		if fault := m.unfit(s, w); fault != nil {
			failed = append(failed, cnstypes.CnsPlacementResult{Datastore: ref, PlacementFaults: []*types.LocalizedMethodFault{localized(fault)}})
			if worst == nil || weight(fault) > weight(worst) {
				worst = fault
			}
			continue
		}
		left := s.free - promised[ref]<<20
		if best == nil || best.ref != w.near && (ref == w.near || left > room) {
			best, room = s, left
		}
	}
	if best == nil {
		if worst == nil {
			worst = because(nil, "no datastore to create the disk on")
		}
		return nil, failed, worst
	}
	return best, append([]cnstypes.CnsPlacementResult{{Datastore: best.ref}}, failed...), nil
}

// promised returns the maximum size in MiB of all volumes on each datastore. Their disks are thin: they fill up as data is
// written.
func (m *Manager) promised() map[vc.Ref]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := make(map[vc.Ref]int64)
	for _, v := range m.order {
		sum[v.datastore] += v.capacity
	}
	return sum
}

// unfit returns the reason why a datastore cannot hold a volume, or nil.
func (m *Manager) unfit(s *store, w wish) types.BaseMethodFault {
	switch {
	case w.policy != "" && m.opts.Compatible != nil && !m.opts.Compatible(w.policy, s.ref):
		return because(nil, "datastore %s is not compatible with storage policy %s", s.name, w.policy)
	case len(s.hosts) == 0:
		return inaccessible(s, "no host reaches it")
	case s.maintenance:
		return inaccessible(s, "it is in maintenance mode")
	case s.free < w.capacityMB<<20:
		return noSpace(s)
	}
	return nil
}

// weight orders faults: a full datastore only lacks space, one of another policy is the wrong one.
func weight(fault types.BaseMethodFault) int {
	switch fault.(type) {
	case *types.NoDiskSpace:
		return 2
	case *types.InaccessibleDatastore:
		return 1
	}
	return 0
}

func noSpace(s *store) *types.NoDiskSpace {
	return &types.NoDiskSpace{FileFault: types.FileFault{File: "[" + s.name + "]"}, Datastore: s.name}
}

func inaccessible(s *store, detail string) *types.InaccessibleDatastore {
	return &types.InaccessibleDatastore{InvalidDatastore: types.InvalidDatastore{Datastore: &s.ref, Name: s.name}, Detail: detail}
}
