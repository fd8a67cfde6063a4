package store

import (
	"maps"
	"slices"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// createSpec returns the CNS request for a volume.
func createSpec(cluster Cluster, user string, spec volume.Spec) cnstypes.CnsVolumeCreateSpec {
	c := cnstypes.CnsVolumeCreateSpec{
		Name:       spec.Name,
		VolumeType: string(cnstypes.CnsVolumeTypeBlock),
		Metadata:   metadata(cluster, user, spec.Metadata),
		BackingObjectDetails: &cnstypes.CnsBlockBackingDetails{
			CnsBackingObjectDetails: cnstypes.CnsBackingObjectDetails{CapacityInMb: mebibytes(spec.Capacity)},
		},
	}
	for _, d := range spec.Datastores {
		c.Datastores = append(c.Datastores, ref{Type: "Datastore", Value: d.Ref})
	}
	if spec.Policy != "" {
		c.Profile = []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineDefinedProfileSpec{ProfileId: spec.Policy}}
	}
	if spec.Snapshot.Snapshot != "" {
		c.VolumeSource = &cnstypes.CnsSnapshotVolumeSource{
			VolumeId:   volumeID(spec.Snapshot.Volume),
			SnapshotId: cnstypes.CnsSnapshotId{Id: spec.Snapshot.Snapshot},
		}
	}
	return c
}

// metadata returns the CNS metadata of a volume: the cluster, and the known objects that use the volume.
func metadata(cluster Cluster, user string, m volume.Metadata) cnstypes.CnsVolumeMetadata {
	container := cnstypes.CnsContainerCluster{
		ClusterType: string(cnstypes.CnsClusterTypeKubernetes), ClusterId: cluster.ID, VSphereUser: user,
		ClusterFlavor: string(cnstypes.CnsClusterFlavorVanilla), ClusterDistribution: cluster.Distribution,
	}
	md := cnstypes.CnsVolumeMetadata{ContainerCluster: container, ContainerClusterArray: []cnstypes.CnsContainerCluster{container}}
	if m.PV != "" {
		md.EntityMetadata = append(md.EntityMetadata, entity(cluster, cnstypes.CnsKubernetesEntityTypePV, m.PV, "", m.Labels))
	}
	if m.PVC != "" {
		claim := entity(cluster, cnstypes.CnsKubernetesEntityTypePVC, m.PVC, m.Namespace, nil)
		if m.PV != "" {
			claim.ReferredEntity = []cnstypes.CnsKubernetesEntityReference{{
				EntityType: string(cnstypes.CnsKubernetesEntityTypePV), EntityName: m.PV, ClusterID: cluster.ID,
			}}
		}
		md.EntityMetadata = append(md.EntityMetadata, claim)
	}
	return md
}

func entity(cluster Cluster, kind cnstypes.CnsKubernetesEntityType, name, namespace string, labels map[string]string) *cnstypes.CnsKubernetesEntityMetadata {
	e := &cnstypes.CnsKubernetesEntityMetadata{
		CnsEntityMetadata: cnstypes.CnsEntityMetadata{EntityName: name, ClusterID: cluster.ID},
		EntityType:        string(kind), Namespace: namespace,
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		e.Labels = append(e.Labels, types.KeyValue{Key: key, Value: labels[key]})
	}
	return e
}
