package cns

import (
	"slices"

	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// controlFlags are what volumes are protected from, or have done to them.
type controlFlags struct {
	pinned  bool // disableRelocation
	tracked bool // enableChangedBlockTracking
}

// tracking is whether changed blocks are tracked, as queries show it; of file shares it is not known.
func (v *volume) tracking() cnstypes.CnsVolumeCBTStatus {
	switch {
	case v.file:
		return ""
	case v.flags.tracked:
		return cnstypes.CnsVolumeCBTStatusEnabled
	}
	return cnstypes.CnsVolumeCBTStatusDisabled
}

// CnsSetVolumeControlFlags sets flags of volumes; it is no task. Faults: NotFound, InvalidArgument.
func (m *Manager) CnsSetVolumeControlFlags(_ *simulator.Context, req *cnstypes.CnsSetVolumeControlFlags) soap.HasFault {
	body := new(methods.CnsSetVolumeControlFlagsBody)
	if fault := m.control(req.ControlFlagsSpecs, true); fault != nil {
		body.Fault_ = simulator.Fault(reasonOf(fault), fault)
		return body
	}
	body.Res = new(cnstypes.CnsSetVolumeControlFlagsResponse)
	return body
}

// CnsClearVolumeControlFlags is the inverse of CnsSetVolumeControlFlags.
func (m *Manager) CnsClearVolumeControlFlags(_ *simulator.Context, req *cnstypes.CnsClearVolumeControlFlags) soap.HasFault {
	body := new(methods.CnsClearVolumeControlFlagsBody)
	if fault := m.control(req.ControlFlagsSpecs, false); fault != nil {
		body.Fault_ = simulator.Fault(reasonOf(fault), fault)
		return body
	}
	body.Res = new(cnstypes.CnsClearVolumeControlFlagsResponse)
	return body
}

// control sets or clears flags of volumes; of none when one is not there or a flag is unknown.
func (m *Manager) control(specs []cnstypes.CnsVolumeControlFlagsSpec, on bool) types.BaseMethodFault {
	ctx := m.fresh()
	known := []string{
		string(cnstypes.CnsVolumeControlFlagsKeepAfterDeleteVm), string(cnstypes.CnsVolumeControlFlagsDisableRelocation),
		string(cnstypes.CnsVolumeControlFlagsEnableChangedBlockTracking),
	}
	for _, spec := range specs {
		if _, there := m.Volume(spec.VolumeId.Id); !there {
			return new(types.NotFound)
		}
		for _, flag := range spec.ControlFlags {
			if !slices.Contains(known, flag) {
				return &types.InvalidArgument{InvalidProperty: "controlFlags"}
			}
		}
	}
	for _, spec := range specs {
		v := m.take(spec.VolumeId.Id)
		if v == nil {
			return new(types.NotFound)
		}
		keep, flags := v.keep, v.flags
		for _, flag := range spec.ControlFlags {
			switch cnstypes.CnsVolumeControlFlags(flag) {
			case cnstypes.CnsVolumeControlFlagsKeepAfterDeleteVm:
				keep = on
			case cnstypes.CnsVolumeControlFlagsDisableRelocation:
				flags.pinned = on
			case cnstypes.CnsVolumeControlFlagsEnableChangedBlockTracking:
				flags.tracked = on
			}
		}
		m.editDisk(ctx, v.id, func(d *disk) {
			d.Config.KeepAfterDeleteVm = new(keep)
			d.Config.RelocationDisabled = new(flags.pinned)
			d.Config.ChangedBlockTrackingEnabled = new(flags.tracked)
		})
		m.release(v, func() { v.keep, v.flags = keep, flags })
	}
	return nil
}
