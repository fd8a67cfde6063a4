package cns

import (
	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Limits of labels. Source: vSAN Management API, CnsEntityMetadata.
const (
	maxLabels     = 32
	maxLabelKey   = 320 // bytes, exclusive
	maxLabelValue = 64  // bytes, exclusive
)

// CnsUpdateVolumeMetadata changes what is known of the objects that use volumes: see updated.
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

// checkMetadata refuses an update of nothing, and labels that are too many or too long.
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
