package cns

import (
	"cmp"
	"slices"
	"time"

	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// volume is the record of a volume; guarded by Manager.mu.
type volume struct {
	id, name string
	number   uint64 // the order of volumes: see put
	// file: a vSAN file share, without a disk or attachments.
	file bool
	// metadata has one entry for each container cluster that uses the volume, the creator's first.
	metadata  []cnstypes.CnsVolumeMetadata
	capacity  int64 // MiB
	datastore vc.Ref
	// disk is the UUID of its VMDK, "6000C29…" with dashes as in a device's backing; unique and constant.
	disk string
	path string // of the descriptor: "[ds] fcd/<id>.vmdk"
	// policy is the ID of its storage policy, or "".
	policy  string
	created time.Time
	// keep: it survives the destruction of its VM. CNS sets it for the volumes that it creates.
	keep     bool
	on       *attachment // nil while detached; guarded by Manager.mu even while the volume is busy
	snapshot []snapshot  // oldest first
	// flags are the control flags except keepAfterDeleteVm, which is keep.
	flags controlFlags
	share share // of a file volume
	// busy is closed when the operation on it ends; nil without one.
	busy chan struct{}
}

// attachment is the device of a volume on a VM.
type attachment struct {
	vm         vc.Ref
	name, uuid string // of the VM, when it was attached
	key        int32  // of the device
	controller int32  // its key
	unit       int32
}

// snapshot is a snapshot of a volume.
type snapshot struct {
	id, description string
	created         time.Time
	capacity        int64 // of the disk at that time, MiB
	size            int64 // on the datastore, MiB
}

// snapshotSize returns the size of all snapshots of a volume, MiB. The caller holds the lock, or the volume is busy.
func (v *volume) snapshotSize() (mb int64) {
	for _, s := range v.snapshot {
		mb += s.size
	}
	return mb
}

// Volume is a copy of a volume's record.
type Volume struct {
	ID, Name string
	// File is set for a file share.
	File bool
	// CapacityMB is in MiB.
	CapacityMB int64
	Datastore  types.ManagedObjectReference
	DiskUUID   string // as in a device's backing; empty for a file share
	Path       string // of its descriptor
	PolicyID   string
	Clusters   []string // IDs of container clusters that use it
	// VM is the VM to which it is attached, or zero; Controller and Unit are its slot there.
	VM               types.ManagedObjectReference
	Controller, Unit int32
	Snapshots        int
	Created          time.Time
}

// take waits until no operation runs on the volume and marks it busy; nil if the volume does not exist. The result may be read
// without the lock until release, because other operations leave a busy volume alone; except for its attachment, which also the
// end of a VM or an edit of it changes.
func (m *Manager) take(id string) *volume {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		v := m.volumes[id]
		if v == nil {
			return nil
		}
		if v.busy == nil {
			v.busy = make(chan struct{})
			return v
		}
		busy := v.busy
		m.mu.Unlock()
		<-busy
		m.mu.Lock()
	}
}

// release ends the operation that take began, after change was called under the lock (nil: none).
func (m *Manager) release(v *volume, change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if change != nil {
		change()
	}
	close(v.busy)
	v.busy = nil
}

// Volumes returns all volumes, ordered by ID.
func (m *Manager) Volumes() []Volume {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]Volume, 0, len(m.volumes))
	for _, v := range m.volumes {
		all = append(all, v.copy())
	}
	slices.SortFunc(all, func(a, b Volume) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Volume returns the volume with that ID, and false if there is no such volume.
func (m *Manager) Volume(id string) (Volume, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v := m.volumes[id]; v != nil {
		return v.copy(), true
	}
	return Volume{}, false
}

func (v *volume) copy() Volume {
	c := Volume{
		ID: v.id, Name: v.name, File: v.file, CapacityMB: v.capacity, Datastore: v.datastore, DiskUUID: v.disk, Path: v.path,
		PolicyID: v.policy, Snapshots: len(v.snapshot), Created: v.created,
	}
	for _, md := range v.metadata {
		c.Clusters = append(c.Clusters, md.ContainerCluster.ClusterId)
	}
	if v.on != nil {
		c.VM, c.Controller, c.Unit = v.on.vm, v.on.controller, v.on.unit
	} else {
		c.VM = types.ManagedObjectReference{}
	}
	return c
}

// uses records that the VM, whose lock is held, has a disk on the datastore: each lists the other.
func uses(ctx *simulator.Context, vm *simulator.VirtualMachine, ref vc.Ref) {
	if !slices.Contains(vm.Datastore, ref) {
		ctx.Update(vm, []types.PropertyChange{vc.P("datastore", append(slices.Clone(vm.Datastore), ref))})
	}
	listed(ctx, ref, func(vms []vc.Ref) []vc.Ref {
		if slices.Contains(vms, vm.Self) {
			return vms
		}
		return append(vms, vm.Self)
	})
}

// usesNot reverts that, unless the VM, whose lock is held, has its home or another disk there.
func usesNot(ctx *simulator.Context, vm *simulator.VirtualMachine, ref vc.Ref) {
	if !slices.Contains(vm.Datastore, ref) || len(vm.Datastore) == 1 || at(ctx, vm, ref) {
		return
	}
	ctx.Update(vm, []types.PropertyChange{vc.P("datastore", slices.DeleteFunc(slices.Clone(vm.Datastore), func(r vc.Ref) bool { return r == ref }))})
	listed(ctx, ref, func(vms []vc.Ref) []vc.Ref {
		return slices.DeleteFunc(vms, func(r vc.Ref) bool { return r == vm.Self })
	})
}

// at reports whether the VM has files on the datastore.
func at(ctx *simulator.Context, vm *simulator.VirtualMachine, ref vc.Ref) bool {
	var home object.DatastorePath
	ds, ok := ctx.Map.Get(ref).(*simulator.Datastore)
	if ok && home.FromString(vm.Config.Files.VmPathName) && home.Datastore == ds.Name {
		return true
	}
	return slices.ContainsFunc(vm.Config.Hardware.Device, func(d types.BaseVirtualDevice) bool {
		b, ok := d.GetVirtualDevice().Backing.(types.BaseVirtualDeviceFileBackingInfo)
		if !ok {
			return false
		}
		on := b.GetVirtualDeviceFileBackingInfo().Datastore
		return on != nil && *on == ref
	})
}

// listed changes a copy of the datastore's list of VMs.
func listed(ctx *simulator.Context, ref vc.Ref, change func([]vc.Ref) []vc.Ref) {
	ds, ok := ctx.Map.Get(ref).(*simulator.Datastore)
	if !ok {
		return
	}
	ctx.WithLock(ds, func() {
		if vms := change(slices.Clone(ds.Vm)); !slices.Equal(vms, ds.Vm) {
			ctx.Update(ds, []types.PropertyChange{vc.P("vm", vms)})
		}
	})
}

// CnsReconfigVolumePolicy changes or removes the storage policy of volumes. On a datastore that does not meet it a volume becomes
// non-compliant; nothing moves.
func (m *Manager) CnsReconfigVolumePolicy(_ *simulator.Context, req *cnstypes.CnsReconfigVolumePolicy) soap.HasFault {
	const method = "CnsReconfigVolumePolicy"
	return &methods.CnsReconfigVolumePolicyBody{Res: &cnstypes.CnsReconfigVolumePolicyResponse{
		Returnval: m.task(method, func(*simulator.Context) (types.AnyType, types.BaseMethodFault) {
			return eachPlain(m, method, req.VolumePolicyReconfigSpecs,
				func(s *cnstypes.CnsVolumePolicyReconfigSpec) string { return s.VolumeId.Id }, m.reconfigPolicy)
		}),
	}}
}

func (m *Manager) reconfigPolicy(spec *cnstypes.CnsVolumePolicyReconfigSpec) types.BaseMethodFault {
	v := m.take(spec.VolumeId.Id)
	if v == nil {
		return new(types.NotFound)
	}
	about, policy := v.about(vc.Ref{}), policyOf(spec.Profile)
	m.release(v, func() { v.policy = policy })
	m.log(about, event.Info, "volume.policy", "storage policy is %q", policy)
	return nil
}

// CnsUpdateVolumeCrypto is not supported: the simulator has no keys.
func (m *Manager) CnsUpdateVolumeCrypto(_ *simulator.Context, req *cnstypes.CnsUpdateVolumeCrypto) soap.HasFault {
	const method = "CnsUpdateVolumeCrypto"
	return &methods.CnsUpdateVolumeCryptoBody{Res: &cnstypes.CnsUpdateVolumeCryptoResponse{
		Returnval: m.task(method, func(*simulator.Context) (types.AnyType, types.BaseMethodFault) {
			return eachPlain(m, method, req.UpdateSpecs, func(s *cnstypes.CnsVolumeCryptoUpdateSpec) string { return s.VolumeId.Id },
				func(*cnstypes.CnsVolumeCryptoUpdateSpec) types.BaseMethodFault { return new(types.NotSupported) })
		}),
	}}
}

// Limits of labels. Source: vSAN Management API, CnsEntityMetadata.
const (
	maxLabels     = 32
	maxLabelKey   = 320 // bytes, exclusive
	maxLabelValue = 64  // bytes, exclusive
)

// CnsUpdateVolumeMetadata updates the metadata of volumes: see updated.
func (m *Manager) CnsUpdateVolumeMetadata(_ *simulator.Context, req *cnstypes.CnsUpdateVolumeMetadata) soap.HasFault {
	const method = "CnsUpdateVolumeMetadata"
	return &methods.CnsUpdateVolumeBody{Res: &cnstypes.CnsUpdateVolumeMetadataResponse{
		Returnval: m.task(method, func(*simulator.Context) (types.AnyType, types.BaseMethodFault) {
			return eachPlain(m, method, req.UpdateSpecs,
				func(s *cnstypes.CnsVolumeMetadataUpdateSpec) string { return s.VolumeId.Id }, m.updateMetadata)
		}),
	}}
}

func (m *Manager) updateMetadata(spec *cnstypes.CnsVolumeMetadataUpdateSpec) types.BaseMethodFault {
	if fault := checkMetadata(&spec.Metadata); fault != nil {
		return fault
	}
	v := m.take(spec.VolumeId.Id)
	if v == nil {
		return new(types.NotFound)
	}
	m.release(v, func() { v.metadata = updated(v.metadata, spec.Metadata) })
	return nil
}

// checkMetadata refuses an empty update, and labels that are too many or too long.
func checkMetadata(sent *cnstypes.CnsVolumeMetadata) types.BaseMethodFault {
	if len(clusters(*sent)) == 0 && len(sent.EntityMetadata) == 0 {
		return &types.InvalidArgument{InvalidProperty: "metadata"}
	}
	for _, e := range sent.EntityMetadata {
		labels := e.GetCnsEntityMetadata().Labels
		if len(labels) > maxLabels {
			return &types.InvalidArgument{InvalidProperty: "labels"}
		}
		for _, l := range labels {
			if len(l.Key) >= maxLabelKey || len(l.Value) >= maxLabelValue {
				return &types.InvalidArgument{InvalidProperty: "labels"}
			}
		}
	}
	return nil
}

// CNS keeps metadata for each container cluster that uses a volume: the cluster and its entities (PV, PVC, pods). A volume's
// record has this form. Clients exchange one list of clusters and one of entities, which name their cluster. Nothing that a
// record points to is changed in place.

// merged returns a volume's metadata as queries show it.
func merged(metadata []cnstypes.CnsVolumeMetadata) cnstypes.CnsVolumeMetadata {
	var all cnstypes.CnsVolumeMetadata
	for i, md := range metadata {
		if i == 0 {
			all.ContainerCluster = md.ContainerCluster
		}
		all.ContainerClusterArray = append(all.ContainerClusterArray, md.ContainerCluster)
		all.EntityMetadata = append(all.EntityMetadata, md.EntityMetadata...)
	}
	return all
}

// split is the inverse of merged, for a new volume. Without a cluster, the metadata belongs to the cluster with the empty ID.
func split(sent cnstypes.CnsVolumeMetadata) []cnstypes.CnsVolumeMetadata {
	if len(clusters(sent)) == 0 {
		return []cnstypes.CnsVolumeMetadata{{ContainerCluster: sent.ContainerCluster, EntityMetadata: sent.EntityMetadata}}
	}
	return updated(nil, sent)
}

// updated returns metadata with an update applied: it replaces existing clusters and entities, adds new ones, and removes those
// with the delete flag, a cluster with all its entities. It keeps the rest.
func updated(old []cnstypes.CnsVolumeMetadata, sent cnstypes.CnsVolumeMetadata) []cnstypes.CnsVolumeMetadata {
	out := make([]cnstypes.CnsVolumeMetadata, len(old))
	for i, md := range old {
		out[i] = cnstypes.CnsVolumeMetadata{ContainerCluster: md.ContainerCluster, EntityMetadata: slices.Clone(md.EntityMetadata)}
	}
	for _, c := range clusters(sent) {
		i := slices.IndexFunc(out, func(md cnstypes.CnsVolumeMetadata) bool { return md.ContainerCluster.ClusterId == c.ClusterId })
		switch {
		case c.Delete && i >= 0:
			out = slices.Delete(out, i, i+1)
		case c.Delete:
		case i >= 0:
			out[i].ContainerCluster = c
		default:
			out = append(out, cnstypes.CnsVolumeMetadata{ContainerCluster: c})
		}
	}
	for _, e := range sent.EntityMetadata {
		update(out, e, sent.ContainerCluster.ClusterId)
	}
	return out
}

// clusters returns the clusters of an update: the list, or the single one of old clients.
func clusters(sent cnstypes.CnsVolumeMetadata) []cnstypes.CnsContainerCluster {
	if len(sent.ContainerClusterArray) == 0 && sent.ContainerCluster.ClusterId != "" {
		return []cnstypes.CnsContainerCluster{sent.ContainerCluster}
	}
	return sent.ContainerClusterArray
}

// update adds, replaces or removes an entity in its cluster, by default the given one. It drops entities of clusters that do not
// use the volume.
func update(metadata []cnstypes.CnsVolumeMetadata, e cnstypes.BaseCnsEntityMetadata, cluster string) {
	if id := e.GetCnsEntityMetadata().ClusterID; id != "" {
		cluster = id
	}
	c := slices.IndexFunc(metadata, func(md cnstypes.CnsVolumeMetadata) bool { return md.ContainerCluster.ClusterId == cluster })
	if c < 0 {
		return
	}
	list := metadata[c].EntityMetadata
	i := slices.IndexFunc(list, func(o cnstypes.BaseCnsEntityMetadata) bool { return keyOf(o) == keyOf(e) })
	switch remove := e.GetCnsEntityMetadata().Delete; {
	case remove && i >= 0:
		list = slices.Delete(list, i, i+1)
	case remove:
	case i >= 0:
		list[i] = e
	default:
		list = append(list, e)
	}
	metadata[c].EntityMetadata = list
}

// entityKey identifies an entity within a cluster.
type entityKey struct{ kind, namespace, name string }

func keyOf(e cnstypes.BaseCnsEntityMetadata) entityKey {
	key := entityKey{name: e.GetCnsEntityMetadata().EntityName}
	if k, ok := e.(*cnstypes.CnsKubernetesEntityMetadata); ok {
		key.kind, key.namespace = k.EntityType, k.Namespace
	}
	return key
}
