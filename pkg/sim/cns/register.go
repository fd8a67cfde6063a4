package cns

import (
	"errors"
	"io/fs"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// register makes a volume of a first class disk that there is.
func (m *Manager) register(ctx *simulator.Context, spec *cnstypes.CnsVolumeCreateSpec, id string, result *cnstypes.CnsVolumeCreateResult) types.BaseMethodFault {
	d, ok := m.findDisk(ctx, id)
	if !ok {
		return new(types.NotFound)
	}
	v, ok := m.diskAsVolume(&d)
	if !ok {
		return new(types.NotSupported)
	}
	v.name, v.metadata, v.policy, v.created = spec.Name, split(spec.Metadata), policyOf(spec.Profile), m.opts.Now()
	v.adopt(&d)
	m.mark(ctx, v)
	if err := m.fill(v, ""); err != nil && !errors.Is(err, fs.ErrExist) { // it may have been a volume before
		return because(nil, "Failed to register disk: %v", err)
	}
	m.mu.Lock()
	m.used[id] = true
	m.put(v)
	m.sight(v)
	m.mu.Unlock()
	m.consumers(ctx, v)
	result.VolumeId = cnstypes.CnsVolumeId{Id: id}
	result.PlacementResults = []cnstypes.CnsPlacementResult{{Datastore: v.datastore}}
	m.log(v.about(vc.Ref{}), event.Info, "volume.registered", "%s is a volume from now on: %s, id %s", v.path, size(v.capacity), id)
	return nil
}
