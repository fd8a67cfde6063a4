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

// volume is what is known of a volume; guarded by Manager.mu.
type volume struct {
	id, name string
	number   uint64 // by which volumes are ordered: see put
	// file: a vSAN file share, which has no disk and is attached nowhere.
	file bool
	// metadata is one per container cluster that uses the volume, the creator's first.
	metadata  []cnstypes.CnsVolumeMetadata
	capacity  int64 // MiB
	datastore vc.Ref
	// disk is its VMDK's UUID, "6000C29…" with dashes as a device's backing has it; unique, and the same for ever.
	disk string
	path string // of the descriptor: "[ds] fcd/<id>.vmdk"
	// policy is the id of its storage policy; empty for none.
	policy  string
	created time.Time
	// keep: it outlives the VM that it is attached to when that is destroyed. Volumes that CNS made do.
	keep     bool
	on       *attachment // nil while it is attached to none; guarded by Manager.mu also while the volume is busy
	snapshot []snapshot  // oldest first
	// flags are the control flags that are set, but keepAfterDeleteVm, which is keep.
	flags controlFlags
	share share // of a file volume
	// busy is closed when the operation on it ends; nil while there is none.
	busy chan struct{}
}

// attachment is the device by which a volume is on a VM.
type attachment struct {
	vm         vc.Ref
	name, uuid string // of the VM, when it was attached
	key        int32  // of the device
	controller int32  // its key
	unit       int32
}

// snapshot is one of a volume.
type snapshot struct {
	id, description string
	created         time.Time
	capacity        int64 // of the disk then, MiB
	size            int64 // what it takes on the datastore, MiB
}

// snapshotSize is what a volume's snapshots take together, MiB. The lock is held, or the volume busy.
func (v *volume) snapshotSize() (mb int64) {
	for _, s := range v.snapshot {
		mb += s.size
	}
	return mb
}

// Volume is a copy of what CNS knows of a volume.
type Volume struct {
	ID, Name string
	// File: it is a file share.
	File bool
	// CapacityMB is MiB.
	CapacityMB int64
	Datastore  types.ManagedObjectReference
	DiskUUID   string // as in a device's backing; empty for a file share
	Path       string // of its descriptor
	PolicyID   string
	Clusters   []string // ids of container clusters that use it
	// VM is what it is attached to, the zero reference for none; Controller and Unit are its place there.
	VM               types.ManagedObjectReference
	Controller, Unit int32
	Snapshots        int
	Created          time.Time
}

// take waits until no operation is under way on the volume and marks it busy; nil when there is none of that id. What it
// returns may be read without the lock until release, because nobody else changes a busy volume; but for where it is attached,
// which also a VM's end, or somebody who removes the device, changes.
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

// release ends the operation that take began, after change has been made to it under the lock (nil: none).
func (m *Manager) release(v *volume, change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if change != nil {
		change()
	}
	close(v.busy)
	v.busy = nil
}

// Volumes returns all volumes, ordered by id.
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

// Volume returns one; false when there is none of that id.
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

// uses notes that the VM, whose lock is held, has a disk on the datastore: each lists the other.
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

// usesNot takes that back, unless the VM, whose lock is held, has its home or another disk there.
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

// CnsReconfigVolumePolicy gives volumes another storage policy, or none. A datastore that does not meet it makes the volume
// non-compliant; nothing is moved.
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

// CnsUpdateVolumeCrypto is not supported: there are no keys here.
func (m *Manager) CnsUpdateVolumeCrypto(_ *simulator.Context, req *cnstypes.CnsUpdateVolumeCrypto) soap.HasFault {
	const method = "CnsUpdateVolumeCrypto"
	return &methods.CnsUpdateVolumeCryptoBody{Res: &cnstypes.CnsUpdateVolumeCryptoResponse{
		Returnval: m.task(method, func(*simulator.Context) (types.AnyType, types.BaseMethodFault) {
			return eachPlain(m, method, req.UpdateSpecs, func(s *cnstypes.CnsVolumeCryptoUpdateSpec) string { return s.VolumeId.Id },
				func(*cnstypes.CnsVolumeCryptoUpdateSpec) types.BaseMethodFault { return new(types.NotSupported) })
		}),
	}}
}
