package cns

import (
	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// makingKey is what no two volumes are made with at once: name and container cluster, or the id that is asked for.
type makingKey struct{ name, cluster, id string }

// CnsCreateVolume makes a volume, or registers a disk that there is. Of one name in one container cluster there is one
// volume: a second call returns it as it is.
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

// known tells whether a creation failed because what was asked for is there.
func known(fault types.BaseMethodFault) bool {
	switch fault.(type) {
	case *cnstypes.CnsAlreadyRegisteredFault, *cnstypes.CnsVolumeAlreadyExistsFault:
		return true
	}
	return false
}

// create does what a spec asks for and fills in the result.
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

// make waits until nobody makes a volume of that key, and returns the one that there is then; with none, the caller makes
// it, and calls done after that.
func (m *Manager) make(key makingKey) (is *volume, done func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		if is := m.named(key); is != nil {
			if is.busy == nil {
				return is, nil
			}
			m.await(is.busy) // it may be on its way out
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

// await waits for something without the lock, which is held before and after.
func (m *Manager) await(c <-chan struct{}) {
	m.mu.Unlock()
	defer m.mu.Lock()
	<-c
}

// named finds the volume of a key. The lock is held.
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

// again answers for a volume that there is.
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
