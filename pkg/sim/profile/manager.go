package profile

import (
	"github.com/vmware/govmomi/pbm/methods"
	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	vim "github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/policy"
)

// manager is the PbmProfileProfileManager.
type manager struct {
	vim.ManagedObjectReference
	s *Service
}

func fault(f vim.BaseMethodFault) *soap.Fault { return simulator.Fault("", f) }

func userOf(ctx *simulator.Context) string {
	if ctx.Session == nil {
		return ""
	}
	return ctx.Session.UserName
}

// PbmFetchResourceType lists the types of resources that have profiles.
func (m *manager) PbmFetchResourceType(*pbm.PbmFetchResourceType) soap.HasFault {
	return &methods.PbmFetchResourceTypeBody{Res: &pbm.PbmFetchResourceTypeResponse{
		Returnval: []pbm.PbmProfileResourceType{policy.Storage()},
	}}
}

// PbmQueryProfile lists identifiers.
func (m *manager) PbmQueryProfile(req *pbm.PbmQueryProfile) soap.HasFault {
	res := new(pbm.PbmQueryProfileResponse)
	for _, p := range m.s.List() {
		if p.ResourceType == req.ResourceType && (req.ProfileCategory == "" || p.ProfileCategory == req.ProfileCategory) {
			res.Returnval = append(res.Returnval, p.ProfileId)
		}
	}
	return &methods.PbmQueryProfileBody{Res: res}
}

// PbmQueryProfileDetails lists profiles with the details that the vSphere Client shows.
func (m *manager) PbmQueryProfileDetails(req *pbm.PbmQueryProfileDetails) soap.HasFault {
	res := new(pbm.PbmQueryProfileDetailsResponse)
	for _, p := range m.s.List() {
		if req.ProfileCategory == "" || p.ProfileCategory == req.ProfileCategory {
			res.Returnval = append(res.Returnval, pbm.PbmProfileDetails{Profile: p, IofInfos: filters(p)})
		}
	}
	return &methods.PbmQueryProfileDetailsBody{Res: res}
}

// PbmRetrieveContent returns profiles.
func (m *manager) PbmRetrieveContent(req *pbm.PbmRetrieveContent) soap.HasFault {
	if len(req.ProfileIds) == 0 {
		return &methods.PbmRetrieveContentBody{Fault_: fault(new(vim.InvalidRequest))}
	}
	res := new(pbm.PbmRetrieveContentResponse)
	for _, id := range req.ProfileIds {
		p := m.s.Find(id.UniqueId)
		if p == nil {
			return &methods.PbmRetrieveContentBody{Fault_: fault(unknownProfile())}
		}
		res.Returnval = append(res.Returnval, p)
	}
	return &methods.PbmRetrieveContentBody{Res: res}
}

// PbmCreate makes a profile.
func (m *manager) PbmCreate(ctx *simulator.Context, req *pbm.PbmCreate) soap.HasFault {
	id, f := m.s.create(&req.CreateSpec, userOf(ctx))
	if f != nil {
		return &methods.PbmCreateBody{Fault_: fault(f)}
	}
	return &methods.PbmCreateBody{Res: &pbm.PbmCreateResponse{Returnval: pbm.PbmProfileId{UniqueId: id}}}
}

// PbmUpdate changes a profile.
func (m *manager) PbmUpdate(ctx *simulator.Context, req *pbm.PbmUpdate) soap.HasFault {
	if f := m.s.update(req.ProfileId.UniqueId, &req.UpdateSpec, userOf(ctx)); f != nil {
		return &methods.PbmUpdateBody{Fault_: fault(f)}
	}
	return &methods.PbmUpdateBody{Res: new(pbm.PbmUpdateResponse)}
}

// PbmDelete deletes profiles, and returns the errors.
func (m *manager) PbmDelete(req *pbm.PbmDelete) soap.HasFault {
	used := map[string]bool{}
	for _, u := range m.s.opts.Uses() {
		used[u.Profile] = true
	}
	res := new(pbm.PbmDeleteResponse)
	for _, id := range req.ProfileId {
		if f := m.s.remove(id.UniqueId, used[id.UniqueId]); f != nil {
			res.Returnval = append(res.Returnval, pbm.PbmProfileOperationOutcome{
				ProfileId: id, Fault: &vim.LocalizedMethodFault{Fault: f, LocalizedMessage: "The profile is in use or not known."},
			})
		}
	}
	return &methods.PbmDeleteBody{Res: res}
}

// PbmQueryIOFiltersFromProfileId lists the I/O filters of profiles.
func (m *manager) PbmQueryIOFiltersFromProfileId(req *pbm.PbmQueryIOFiltersFromProfileId) soap.HasFault {
	res := new(pbm.PbmQueryIOFiltersFromProfileIdResponse)
	for _, id := range req.ProfileIds {
		p := m.s.Find(id.UniqueId)
		if p == nil {
			return &methods.PbmQueryIOFiltersFromProfileIdBody{Fault_: simulator.Fault("Invalid profile ID", new(vim.RuntimeFault))}
		}
		if list := filters(p); len(list) > 0 {
			res.Returnval = append(res.Returnval, pbm.PbmProfileToIofilterMap{Key: id, Iofilters: list})
		}
	}
	return &methods.PbmQueryIOFiltersFromProfileIdBody{Res: res}
}

// filters returns the I/O filters of a profile: encryption, for the built-in profile.
func filters(p *pbm.PbmCapabilityProfile) []pbm.PbmIofilterInfo {
	if p.Name == policy.Encryption {
		return []pbm.PbmIofilterInfo{{FilterType: string(pbm.PbmIofilterInfoFilterTypeENCRYPTION)}}
	}
	return nil
}

// PbmResolveK8sCompliantNames is not supported: it belongs to the Supervisor.
func (m *manager) PbmResolveK8sCompliantNames(*pbm.PbmResolveK8sCompliantNames) soap.HasFault {
	return &methods.PbmResolveK8sCompliantNamesBody{Fault_: fault(new(vim.NotSupported))}
}

// PbmUpdateK8sCompliantNames is not supported: it belongs to the Supervisor.
func (m *manager) PbmUpdateK8sCompliantNames(*pbm.PbmUpdateK8sCompliantNames) soap.HasFault {
	return &methods.PbmUpdateK8sCompliantNamesBody{Fault_: fault(new(vim.NotSupported))}
}
