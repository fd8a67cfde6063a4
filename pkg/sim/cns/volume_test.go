package cns_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

// shown is a volume's metadata in words: "cluster one", "one/PERSISTENT_VOLUME//pv[app=web]".
func (s *server) shown(t testing.TB, id string) (list []string) {
	t.Helper()
	md := s.query(t, &cnstypes.CnsQueryFilter{VolumeIds: []cnstypes.CnsVolumeId{{Id: id}}}).Volumes[0].Metadata
	for _, c := range md.ContainerClusterArray {
		list = append(list, "cluster "+c.ClusterId)
	}
	for _, e := range md.EntityMetadata {
		k := e.(*cnstypes.CnsKubernetesEntityMetadata)
		line := fmt.Sprintf("%s/%s/%s/%s", k.ClusterID, k.EntityType, k.Namespace, k.EntityName)
		for _, l := range k.Labels {
			line += fmt.Sprintf("[%s=%s]", l.Key, l.Value)
		}
		list = append(list, line)
	}
	return list
}

func TestMetadata(t *testing.T) {
	const pv, pvc, pod = cnstypes.CnsKubernetesEntityTypePV, cnstypes.CnsKubernetesEntityTypePVC, cnstypes.CnsKubernetesEntityTypePOD
	s := serve(t, 1, cns.Options{})
	id := s.create(t, spec("a", "one", 1))
	cluster := func(id string, gone bool) cnstypes.CnsContainerCluster {
		return cnstypes.CnsContainerCluster{ClusterType: "KUBERNETES", ClusterId: id, Delete: gone}
	}
	gone := func(e *cnstypes.CnsKubernetesEntityMetadata) *cnstypes.CnsKubernetesEntityMetadata {
		e.Delete = true
		return e
	}
	type entities = []cnstypes.BaseCnsEntityMetadata
	for _, step := range []struct {
		name     string
		clusters []cnstypes.CnsContainerCluster
		entities entities
		want     []string
	}{
		{
			"added",
			[]cnstypes.CnsContainerCluster{cluster("one", false)},
			entities{entity(pv, "", "pv", "one", kv("app", "web")), entity(pvc, "ns", "pvc", "one")},
			[]string{"cluster one", "one/PERSISTENT_VOLUME//pv[app=web]", "one/PERSISTENT_VOLUME_CLAIM/ns/pvc"},
		},
		{
			"one replaced, the other stays",
			[]cnstypes.CnsContainerCluster{cluster("one", false)},
			entities{entity(pv, "", "pv", "one", kv("app", "db"))},
			[]string{"cluster one", "one/PERSISTENT_VOLUME//pv[app=db]", "one/PERSISTENT_VOLUME_CLAIM/ns/pvc"},
		},
		{
			"another cluster uses it",
			[]cnstypes.CnsContainerCluster{cluster("two", false)},
			entities{entity(pv, "", "pv", "two"), entity(pod, "ns", "pod", "one")},
			[]string{"cluster one", "cluster two", "one/PERSISTENT_VOLUME//pv[app=db]", "one/PERSISTENT_VOLUME_CLAIM/ns/pvc", "one/POD/ns/pod", "two/PERSISTENT_VOLUME//pv"},
		},
		{
			"entity deleted",
			[]cnstypes.CnsContainerCluster{cluster("one", false)},
			entities{gone(entity(pod, "ns", "pod", "one")), gone(entity(pod, "ns", "none", "one"))},
			[]string{"cluster one", "cluster two", "one/PERSISTENT_VOLUME//pv[app=db]", "one/PERSISTENT_VOLUME_CLAIM/ns/pvc", "two/PERSISTENT_VOLUME//pv"},
		},
		{
			"cluster removed",
			[]cnstypes.CnsContainerCluster{cluster("one", true)},
			nil,
			[]string{"cluster two", "two/PERSISTENT_VOLUME//pv"},
		},
		{
			"entity of a cluster that does not use it", nil,
			entities{entity(pv, "", "pv", "three")},
			[]string{"cluster two", "two/PERSISTENT_VOLUME//pv"},
		},
	} {
		t.Run(step.name, func(t *testing.T) {
			md := cnstypes.CnsVolumeMetadata{ContainerClusterArray: step.clusters, EntityMetadata: step.entities}
			if len(step.clusters) > 0 {
				md.ContainerCluster = step.clusters[0]
			}
			task, err := s.cns.UpdateVolumeMetadata(t.Context(), []cnstypes.CnsVolumeMetadataUpdateSpec{{VolumeId: cnstypes.CnsVolumeId{Id: id}, Metadata: md}})
			fine(t, only(t, task, err))
			if diff := cmp.Diff(step.want, s.shown(t, id)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if v := s.query(t, &cnstypes.CnsQueryFilter{ContainerClusterIds: []string{"one"}}).Volumes; len(v) != 0 {
		t.Errorf("still of cluster one: %v", names(v))
	}

	md := cnstypes.CnsVolumeMetadata{ContainerClusterArray: []cnstypes.CnsContainerCluster{cluster("two", false)}}
	long := md
	long.EntityMetadata = entities{entity(pv, "", "pv", "two", kv("key", strings.Repeat("x", 64)))}
	task, err := s.cns.UpdateVolumeMetadata(t.Context(), []cnstypes.CnsVolumeMetadataUpdateSpec{
		{VolumeId: cnstypes.CnsVolumeId{Id: "none"}, Metadata: md}, {VolumeId: cnstypes.CnsVolumeId{Id: id}}, {VolumeId: cnstypes.CnsVolumeId{Id: id}, Metadata: long},
	})
	r := results(t, task, err)
	refusedWith[*types.NotFound](t, r[0])
	refusedWith[*types.InvalidArgument](t, r[1])
	refusedWith[*types.InvalidArgument](t, r[2])
}
