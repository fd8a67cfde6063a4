package cns

import (
	"slices"

	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	vsanfs "github.com/vmware/govmomi/vsan/vsanfs/types"
)

// CnsConfigureVolumeACLs changes who may mount file volumes: rules of addresses that there are already are replaced.
func (m *Manager) CnsConfigureVolumeACLs(_ *simulator.Context, req *cnstypes.CnsConfigureVolumeACLs) soap.HasFault {
	const method = "CnsConfigureVolumeACLs"
	return &methods.CnsConfigureVolumeACLsBody{Res: &cnstypes.CnsConfigureVolumeACLsResponse{
		Returnval: m.task(method, func(*simulator.Context) (types.AnyType, types.BaseMethodFault) {
			return eachPlain(m, method, req.ACLConfigSpecs,
				func(s *cnstypes.CnsVolumeACLConfigureSpec) string { return s.VolumeId.Id }, m.configureACL)
		}),
	}}
}

func (m *Manager) configureACL(spec *cnstypes.CnsVolumeACLConfigureSpec) types.BaseMethodFault {
	v := m.take(spec.VolumeId.Id)
	if v == nil {
		return new(types.NotFound)
	}
	if !v.file {
		m.release(v, nil)
		return new(types.NotSupported)
	}
	access := slices.Clone(v.share.access)
	for _, change := range spec.AccessControlSpecList {
		for _, p := range change.Permission {
			access = slices.DeleteFunc(access, func(is vsanfs.VsanFileShareNetPermission) bool { return is.Ips == p.Ips })
			if !change.Delete {
				access = append(access, p)
			}
		}
	}
	m.release(v, func() { v.share.access = access })
	return nil
}

// Access returns who may mount a file volume: addresses ("*", "10.0.0.0/8") and what they may do; false when there is none
// of that id.
func (m *Manager) Access(id string) ([]vsanfs.VsanFileShareNetPermission, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.volumes[id]
	if v == nil || !v.file {
		return nil, false
	}
	return slices.Clone(v.share.access), true
}
