package sim

import (
	"github.com/vmware/govmomi/cns"
	cnssim "github.com/vmware/govmomi/cns/simulator"
	cnstypes "github.com/vmware/govmomi/cns/types"
	pbmmethods "github.com/vmware/govmomi/pbm/methods"
	pbmsim "github.com/vmware/govmomi/pbm/simulator"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// volumeManager is vcsim's CNS volume manager with queries that wait for creations: in vcsim the two lock in different
// registries, and a query during a creation ends the process ("concurrent map iteration and map write").
type volumeManager struct{ *cnssim.CnsVolumeManager }

func volumes(r *simulator.Registry) *simulator.Registry {
	if m, ok := r.Get(cns.CnsVolumeManagerInstance).(*cnssim.CnsVolumeManager); ok {
		r.Put(&volumeManager{m})
	}
	return r
}

// CnsQueryVolume holds the lock that CNS tasks hold.
func (m *volumeManager) CnsQueryVolume(ctx *simulator.Context, req *cnstypes.CnsQueryVolume) (body soap.HasFault) {
	m.locked(ctx, func() { body = m.CnsVolumeManager.CnsQueryVolume(ctx, req) })
	return body
}

// CnsQueryAllVolume holds the lock that CNS tasks hold.
func (m *volumeManager) CnsQueryAllVolume(ctx *simulator.Context, req *cnstypes.CnsQueryAllVolume) (body soap.HasFault) {
	m.locked(ctx, func() { body = m.CnsVolumeManager.CnsQueryAllVolume(ctx, req) })
	return body
}

func (m *volumeManager) locked(ctx *simulator.Context, f func()) {
	ctx.For(vim25.Path).WithLock(m.Reference(), f)
}

// profileManager is vcsim's storage policy manager without the calls that write Kubernetes names into the default
// policies: those objects are the same for all vCenters of the process. Only the Supervisor makes these calls.
type profileManager struct{ *pbmsim.ProfileManager }

func policies(r *simulator.Registry) (*simulator.Registry, *profileManager) {
	for _, obj := range r.AllReference("PbmProfileProfileManager") {
		if m, ok := obj.(*pbmsim.ProfileManager); ok {
			ours := &profileManager{m}
			r.Put(ours)
			return r, ours
		}
	}
	return r, nil
}

// PbmResolveK8sCompliantNames is not supported.
func (m *profileManager) PbmResolveK8sCompliantNames(*pbmtypes.PbmResolveK8sCompliantNames) soap.HasFault {
	return &pbmmethods.PbmResolveK8sCompliantNamesBody{Fault_: simulator.Fault("", new(types.NotSupported))}
}

// PbmUpdateK8sCompliantNames is not supported.
func (m *profileManager) PbmUpdateK8sCompliantNames(*pbmtypes.PbmUpdateK8sCompliantNames) soap.HasFault {
	return &pbmmethods.PbmUpdateK8sCompliantNamesBody{Fault_: simulator.Fault("", new(types.NotSupported))}
}
