package cns

import (
	"slices"

	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Limits of labels. Source: vSAN Management API, CnsEntityMetadata.
const (
	maxLabels     = 32
	maxLabelKey   = 320 // bytes, exclusive
	maxLabelValue = 64  // bytes, exclusive
)

// CnsUpdateVolumeMetadata updates the metadata of volumes: see updated.
func (m *Manager) CnsUpdateVolumeMetadata(_ *simulator.Context, req *cnstypes.CnsUpdateVolumeMetadata) soap.HasFault {
	const method = "CnsUpdateVolumeMetadata"
	return &methods.CnsUpdateVolumeBody{Res: &cnstypes.CnsUpdateVolumeMetadataResponse{
		Returnval: m.task(method, func(*simulator.Context) (types.AnyType, types.BaseMethodFault) {
			return eachPlain(m, method, req.UpdateSpecs,
				func(s *cnstypes.CnsVolumeMetadataUpdateSpec) string { return s.VolumeId.Id }, m.updateMetadata)
		}),
	}}
}

func (m *Manager) updateMetadata(spec *cnstypes.CnsVolumeMetadataUpdateSpec) types.BaseMethodFault {
	if fault := checkMetadata(&spec.Metadata); fault != nil {
		return fault
	}
	v := m.take(spec.VolumeId.Id)
	if v == nil {
		return new(types.NotFound)
	}
	m.release(v, func() { v.metadata = updated(v.metadata, spec.Metadata) })
	return nil
}

// checkMetadata refuses an empty update, and labels that are too many or too long.
func checkMetadata(sent *cnstypes.CnsVolumeMetadata) types.BaseMethodFault {
	if len(clusters(*sent)) == 0 && len(sent.EntityMetadata) == 0 {
		return &types.InvalidArgument{InvalidProperty: "metadata"}
	}
	for _, e := range sent.EntityMetadata {
		labels := e.GetCnsEntityMetadata().Labels
		if len(labels) > maxLabels {
			return &types.InvalidArgument{InvalidProperty: "labels"}
		}
		for _, l := range labels {
			if len(l.Key) >= maxLabelKey || len(l.Value) >= maxLabelValue {
				return &types.InvalidArgument{InvalidProperty: "labels"}
			}
		}
	}
	return nil
}

// CNS keeps metadata for each container cluster that uses a volume: the cluster and its entities (PV, PVC, pods). A volume's
// record has this form. Clients exchange one list of clusters and one of entities, which name their cluster. Nothing that a
// record points to is changed in place.

// merged returns a volume's metadata as queries show it.
func merged(metadata []cnstypes.CnsVolumeMetadata) cnstypes.CnsVolumeMetadata {
	var all cnstypes.CnsVolumeMetadata
	for i, md := range metadata {
		if i == 0 {
			all.ContainerCluster = md.ContainerCluster
		}
		all.ContainerClusterArray = append(all.ContainerClusterArray, md.ContainerCluster)
		all.EntityMetadata = append(all.EntityMetadata, md.EntityMetadata...)
	}
	return all
}

// split is the inverse of merged, for a new volume. Without a cluster, the metadata belongs to the cluster with the empty ID.
func split(sent cnstypes.CnsVolumeMetadata) []cnstypes.CnsVolumeMetadata {
	if len(clusters(sent)) == 0 {
		return []cnstypes.CnsVolumeMetadata{{ContainerCluster: sent.ContainerCluster, EntityMetadata: sent.EntityMetadata}}
	}
	return updated(nil, sent)
}

// updated returns metadata with an update applied: it replaces existing clusters and entities, adds new ones, and removes those
// with the delete flag, a cluster with all its entities. It keeps the rest.
func updated(old []cnstypes.CnsVolumeMetadata, sent cnstypes.CnsVolumeMetadata) []cnstypes.CnsVolumeMetadata {
	out := make([]cnstypes.CnsVolumeMetadata, len(old))
	for i, md := range old {
		out[i] = cnstypes.CnsVolumeMetadata{ContainerCluster: md.ContainerCluster, EntityMetadata: slices.Clone(md.EntityMetadata)}
	}
	for _, c := range clusters(sent) {
		i := slices.IndexFunc(out, func(md cnstypes.CnsVolumeMetadata) bool { return md.ContainerCluster.ClusterId == c.ClusterId })
		switch {
		case c.Delete && i >= 0:
			out = slices.Delete(out, i, i+1)
		case c.Delete:
		case i >= 0:
			out[i].ContainerCluster = c
		default:
			out = append(out, cnstypes.CnsVolumeMetadata{ContainerCluster: c})
		}
	}
	for _, e := range sent.EntityMetadata {
		update(out, e, sent.ContainerCluster.ClusterId)
	}
	return out
}

// clusters returns the clusters of an update: the list, or the single one of old clients.
func clusters(sent cnstypes.CnsVolumeMetadata) []cnstypes.CnsContainerCluster {
	if len(sent.ContainerClusterArray) == 0 && sent.ContainerCluster.ClusterId != "" {
		return []cnstypes.CnsContainerCluster{sent.ContainerCluster}
	}
	return sent.ContainerClusterArray
}

// update adds, replaces or removes an entity in its cluster, by default the given one. It drops entities of clusters that do not
// use the volume.
func update(metadata []cnstypes.CnsVolumeMetadata, e cnstypes.BaseCnsEntityMetadata, cluster string) {
	if id := e.GetCnsEntityMetadata().ClusterID; id != "" {
		cluster = id
	}
	c := slices.IndexFunc(metadata, func(md cnstypes.CnsVolumeMetadata) bool { return md.ContainerCluster.ClusterId == cluster })
	if c < 0 {
		return
	}
	list := metadata[c].EntityMetadata
	i := slices.IndexFunc(list, func(o cnstypes.BaseCnsEntityMetadata) bool { return keyOf(o) == keyOf(e) })
	switch remove := e.GetCnsEntityMetadata().Delete; {
	case remove && i >= 0:
		list = slices.Delete(list, i, i+1)
	case remove:
	case i >= 0:
		list[i] = e
	default:
		list = append(list, e)
	}
	metadata[c].EntityMetadata = list
}

// entityKey identifies an entity within a cluster.
type entityKey struct{ kind, namespace, name string }

func keyOf(e cnstypes.BaseCnsEntityMetadata) entityKey {
	key := entityKey{name: e.GetCnsEntityMetadata().EntityName}
	if k, ok := e.(*cnstypes.CnsKubernetesEntityMetadata); ok {
		key.kind, key.namespace = k.EntityType, k.Namespace
	}
	return key
}
