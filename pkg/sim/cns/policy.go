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
