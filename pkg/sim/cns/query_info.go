package cns

import (
	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// CnsQueryVolumeInfo returns the first class disks of volumes, as vSphere's catalogue has them.
func (m *Manager) CnsQueryVolumeInfo(_ *simulator.Context, req *cnstypes.CnsQueryVolumeInfo) soap.HasFault {
	const method = "CnsQueryVolumeInfo"
	return &methods.CnsQueryVolumeInfoBody{Res: &cnstypes.CnsQueryVolumeInfoResponse{
		Returnval: m.task(method, func(ctx *simulator.Context) (types.AnyType, types.BaseMethodFault) {
			id := func(id *cnstypes.CnsVolumeId) string { return id.Id }
			return each(m, method, req.VolumeIds, id, func(id *cnstypes.CnsVolumeId, fault types.BaseMethodFault) cnstypes.BaseCnsVolumeOperationResult {
				r := new(cnstypes.CnsQueryVolumeInfoResult)
				if fault == nil {
					r.VolumeInfo, fault = m.info(ctx, id.Id)
				}
				r.CnsVolumeOperationResult = outcome(id.Id, fault)
				return r
			})
		}),
	}}
}

func (m *Manager) info(ctx *simulator.Context, id string) (cnstypes.BaseCnsVolumeInfo, types.BaseMethodFault) {
	if v, known := m.Volume(id); known && v.File {
		return nil, new(types.NotSupported)
	}
	d, found := m.findDisk(ctx, id)
	if !found {
		return nil, new(types.NotFound)
	}
	return &cnstypes.CnsBlockVolumeInfo{VStorageObject: d.VStorageObject}, nil
}
