package cns

import (
	cnstypes "github.com/vmware/govmomi/cns/types"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns/internal/wire"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// view makes what clients see of volumes, for one query: each datastore is looked at once. Not for several goroutines.
type view struct {
	m         *Manager
	ctx       *simulator.Context
	selection selection
	places    map[vc.Ref]place
	policies  map[policyOn]pbmtypes.PbmComplianceStatus
}

// place is what a query tells of a datastore.
type place struct {
	url   string
	reach reach
}

type policyOn struct {
	policy    string
	datastore vc.Ref
}

func (m *Manager) newView(s selection) *view {
	return &view{
		m: m, ctx: m.fresh(), selection: s, places: make(map[vc.Ref]place),
		policies: make(map[policyOn]pbmtypes.PbmComplianceStatus),
	}
}

// show makes the record of a volume that clients see, before fields are selected.
func (w *view) show(v *volume) wire.CnsVolume {
	shown := wire.CnsVolume{
		VolumeId:             cnstypes.CnsVolumeId{Id: v.id},
		Name:                 v.name,
		VolumeType:           string(cnstypes.CnsVolumeTypeBlock),
		StoragePolicyId:      v.policy,
		BackingObjectDetails: v.backing(),
		ChangedBlockTracking: v.tracking(),
	}
	if v.file {
		shown.VolumeType = string(cnstypes.CnsVolumeTypeFile)
	}
	if w.selection == nil || w.selection.has(metadataSelected) {
		shown.Metadata = merged(v.metadata)
	}
	if w.selection != nil && len(w.selection) == 0 { // nobody asks where it is
		return shown
	}
	p := w.place(v.datastore)
	shown.DatastoreUrl = p.url
	shown.DatastoreAccessibilityStatus = string(p.reach)
	shown.HealthStatus = string(p.reach.health())
	shown.ComplianceStatus = string(w.compliance(v, p.reach))
	return shown
}

// backing describes the disk or share behind a volume.
func (v *volume) backing() cnstypes.BaseCnsBackingObjectDetails {
	size := cnstypes.CnsBackingObjectDetails{CapacityInMb: v.capacity}
	if v.file {
		return &cnstypes.CnsVsanFileShareBackingDetails{
			CnsFileBackingDetails: cnstypes.CnsFileBackingDetails{CnsBackingObjectDetails: size, BackingFileId: v.share.id},
			Name:                  v.name,
			AccessPoints:          v.share.points,
		}
	}
	return &cnstypes.CnsBlockBackingDetails{
		CnsBackingObjectDetails: size, BackingDiskId: v.id, BackingDiskPath: v.path, BackingDiskObjectId: v.id,
		AggregatedSnapshotCapacityInMb: v.snapshotSize(),
	}
}

func (w *view) place(datastore vc.Ref) place {
	p, known := w.places[datastore]
	if !known {
		s := w.m.store(w.ctx, datastore)
		if p.reach = s.reach(); s != nil {
			p.url = s.url
		}
		w.places[datastore] = p
	}
	return p
}

func (w *view) compliance(v *volume, r reach) pbmtypes.PbmComplianceStatus {
	on := policyOn{v.policy, v.datastore}
	status, known := w.policies[on]
	if !known {
		status = w.m.compliance(v.policy, v.datastore, r)
		w.policies[on] = status
	}
	return status
}
