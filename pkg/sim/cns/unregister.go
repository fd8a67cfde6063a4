package cns

import (
	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// CnsUnregisterVolume has CNS forget volumes, whose disks stay: as first class disks, or as plain files of the datastore.
// A volume that is attached, or that would lose its snapshots by it, is refused.
func (m *Manager) CnsUnregisterVolume(_ *simulator.Context, req *cnstypes.CnsUnregisterVolume) soap.HasFault {
	const method = "CnsUnregisterVolume"
	return &methods.CnsUnregisterVolumeBody{Res: &cnstypes.CnsUnregisterVolumeResponse{
		Returnval: m.task(method, func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault) {
			return eachPlain(m, method, req.UnregisterSpec,
				func(s *cnstypes.CnsUnregisterVolumeSpec) string { return s.VolumeId.Id },
				func(s *cnstypes.CnsUnregisterVolumeSpec) types.BaseMethodFault { return m.unregister(ctx, s) })
		}),
	}}
}

func (m *Manager) unregister(ctx *simulator.Context, spec *cnstypes.CnsUnregisterVolumeSpec) types.BaseMethodFault {
	plain := false
	switch cnstypes.CnsUnregisterTargetVolumeType(spec.TargetVolumeType) {
	case "", cnstypes.CnsUnregisterTargetVolumeTypeFCD:
	case cnstypes.CnsUnregisterTargetVolumeTypeLEGACY_DISK:
		plain = true
	default:
		return &types.InvalidArgument{InvalidProperty: "targetVolumeType"}
	}
	v := m.take(spec.VolumeId.Id)
	if v == nil {
		return &cnstypes.CnsNotRegisteredFault{VolumeId: spec.VolumeId}
	}
	var fault types.BaseMethodFault
	switch {
	case v.file:
		fault = new(types.NotSupported)
	case m.attachedTo(v) != nil:
		fault = inUse()
	case plain && len(v.snapshot) > 0:
		fault = because(nil, "volume %s has snapshots", v.id)
	}
	if fault != nil {
		m.release(v, nil)
		return fault
	}
	if plain {
		m.dropDisk(ctx, v.datastore, v.id)
	}
	about := v.about(vc.Ref{})
	m.release(v, func() { m.drop(v) })
	m.log(about, event.Info, "volume.unregistered", "CNS knows it no longer; its disk is %s", v.path)
	return nil
}
