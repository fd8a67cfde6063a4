package cns

import (
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
	vsanfs "github.com/vmware/govmomi/vsan/vsanfs/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// filePrefix is what ids of file volumes begin with, by which clients tell them from disks.
const filePrefix = "file:"

// share is what a file volume has in the place of a disk: a share of vSAN's file service. No NFS server is behind it.
type share struct {
	id     string
	points []types.KeyValue // where it is mounted from, by protocol
	access []vsanfs.VsanFileShareNetPermission
}

// createFile makes a file volume, on a vSAN datastore: nothing else has a file service. Of one name in one container cluster
// there is one.
func (m *Manager) createFile(ctx *simulator.Context, spec *cnstypes.CnsVolumeCreateSpec, result *cnstypes.CnsVolumeCreateResult) types.BaseMethodFault {
	details, ok := spec.BackingObjectDetails.(*cnstypes.CnsVsanFileShareBackingDetails)
	if !ok {
		return &types.InvalidArgument{InvalidProperty: "createSpecs.backingObjectDetails"}
	}
	if spec.VolumeSource != nil {
		return new(types.NotSupported)
	}
	cluster := clusterOf(spec.Metadata)
	made, done := m.make(makingKey{name: spec.Name, cluster: cluster})
	if made != nil {
		return m.again(made, new(cnstypes.CnsBlockBackingDetails), result)
	}
	defer done()
	on, placements, fault := m.placeFile(ctx, spec, details.CapacityInMb)
	result.PlacementResults = placements
	if fault != nil {
		return fault
	}
	v := &volume{
		name: spec.Name, file: true, metadata: split(spec.Metadata), capacity: details.CapacityInMb, datastore: on.ref,
		policy: policyOf(spec.Profile), created: m.opts.Now(), keep: true,
	}
	m.mu.Lock()
	v.share.id = m.newID(spec.Name, cluster)
	v.id = filePrefix + v.share.id
	v.share.points = points(m.opts.VCenter, v.share.id)
	if create, ok := spec.CreateSpec.(*cnstypes.CnsVSANFileCreateSpec); ok {
		v.share.access = create.Permission
	}
	m.put(v)
	m.mu.Unlock()
	result.VolumeId = cnstypes.CnsVolumeId{Id: v.id}
	m.log(v.about(vc.Ref{}), event.Info, "volume.created", "file share made on datastore %s: %s, id %s", on.name, size(v.capacity), v.id)
	return nil
}

// placeFile is place among the vSAN datastores that are allowed.
func (m *Manager) placeFile(ctx *simulator.Context, spec *cnstypes.CnsVolumeCreateSpec, capacityMB int64) (*store, []cnstypes.CnsPlacementResult, types.BaseMethodFault) {
	allowed := spec.Datastores
	if len(allowed) == 0 {
		for _, obj := range ctx.Map.AllReference("Datastore") {
			allowed = append(allowed, obj.Reference())
		}
	}
	var vsan []vc.Ref
	var failed []cnstypes.CnsPlacementResult
	for _, ref := range allowed {
		s := m.store(ctx, ref)
		switch {
		case s == nil:
			return nil, nil, &types.ManagedObjectNotFound{Obj: ref}
		case s.kind == "vsan":
			vsan = append(vsan, ref)
		default:
			failed = append(failed, cnstypes.CnsPlacementResult{
				Datastore: ref, PlacementFaults: []*types.LocalizedMethodFault{localized(new(types.NotSupported))},
			})
		}
	}
	if len(vsan) == 0 {
		return nil, failed, because(new(types.NotSupported), "no vSAN datastore to create the file share on")
	}
	on, placements, fault := m.place(ctx, wish{allowed: vsan, capacityMB: capacityMB, policy: policyOf(spec.Profile)})
	return on, append(placements, failed...), fault
}

// points are where a share would be mounted from. The name is of a domain that never resolves.
func points(vcenter, id string) []types.KeyValue {
	server := "vsan-fs." + vcenter + ".invalid"
	return []types.KeyValue{{Key: "NFSv3", Value: server + ":/" + id}, {Key: "NFSv4.1", Value: server + ":/vsanfs/" + id}}
}

// clusterOf is the id of the container cluster that a volume is created for.
func clusterOf(md cnstypes.CnsVolumeMetadata) string {
	if all := clusters(md); len(all) > 0 {
		return all[0].ClusterId
	}
	return ""
}
