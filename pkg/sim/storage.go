package sim

import (
	pbmmethods "github.com/vmware/govmomi/pbm/methods"
	pbmsim "github.com/vmware/govmomi/pbm/simulator"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

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
