package cns

import (
	"fmt"

	"github.com/google/uuid"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	content "github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// createBlock makes a volume with a new disk.
func (m *Manager) createBlock(ctx *simulator.Context, spec *cnstypes.CnsVolumeCreateSpec, details *cnstypes.CnsBlockBackingDetails, result *cnstypes.CnsVolumeCreateResult) types.BaseMethodFault {
	if details.CapacityInMb <= 0 {
		return &types.InvalidArgument{InvalidProperty: "createSpecs.backingObjectDetails.capacityInMb"}
	}
	wanted := spec.VolumeId != nil && spec.VolumeId.Id != ""
	if wanted {
		if d, there := m.findDisk(ctx, spec.VolumeId.Id); there { // a disk that is no volume
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
		_ = m.removeContent(v.id) // nobody knows of it
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

// origin is what a volume begins with; the zero value is nothing.
type origin struct {
	datastore vc.Ref
	dir       string // of its content; empty: there is none
	words     string
}

// source finds the snapshot that a volume is to be made of, and keeps it from changing until release.
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

// fill makes the volume's content: empty, or a copy of a directory.
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

// newDisk is the catalogue's entry of a volume that is new.
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

// backing is where the catalogue says that a volume's disk is.
func (m *Manager) backing(v *volume) *types.BaseConfigInfoDiskFileBackingInfo {
	b := &types.BaseConfigInfoDiskFileBackingInfo{ProvisioningType: string(types.BaseConfigInfoDiskFileBackingInfoProvisioningTypeThin)}
	b.Datastore, b.FilePath, b.BackingObjectId = v.datastore, v.path, uuid.NewSHA1(uuid.NameSpaceOID, []byte(v.id)).String()
	return b
}

// policyOf is the id of the storage policy in a spec; empty for none.
func policyOf(profile []types.BaseVirtualMachineProfileSpec) string {
	for _, p := range profile {
		if defined, ok := p.(*types.VirtualMachineDefinedProfileSpec); ok {
			return defined.ProfileId
		}
	}
	return ""
}

// size is a capacity in MiB for people.
func size(mb int64) string {
	if mb%1024 == 0 {
		return fmt.Sprintf("%d GiB", mb/1024)
	}
	return fmt.Sprintf("%d MiB", mb)
}
