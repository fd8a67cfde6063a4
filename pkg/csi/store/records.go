package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	cnsmethods "github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Records returns the volumes of the cluster with the objects that CNS has recorded for them, in no order: one call per vCenter
// for a page of volumes. The error names vCenters that do not respond; it comes with the records of the others.
func (s *Store) Records(ctx context.Context) (all []volume.Record, err error) {
	defer s.observe("", "records", time.Now(), &err)
	conns := s.conns()
	found, errs := each(conns, func(c *conn) (records []volume.Record, err error) {
		defer wrapError(c, &err, "records of volumes")
		volumes, err := c.query(ctx, cnstypes.CnsQueryFilter{ContainerClusterIds: []string{s.opts.Cluster.ID}})
		for _, v := range volumes {
			records = append(records, volume.Record{
				Volume: c.toVolume(v), Entities: entitiesOf(s.opts.Cluster, v.Metadata), HealthUnknown: healthUnknown(v),
			})
		}
		return records, err
	})
	for i, records := range found {
		for _, r := range records {
			s.locations.put(r.ID, conns[i])
		}
		all = append(all, records...)
	}
	return all, errors.Join(errs...)
}

// Adopt makes a first-class disk a volume, without changing its content, in whichever vCenter has the disk, and returns the volume.
// A disk that is a volume already gets the objects. name is the name of a new volume. Errors: volume.ErrNotFound if no vCenter has the disk;
// volume.ErrUnavailable if one of them does not respond and the others do not have it.
func (s *Store) Adopt(ctx context.Context, id, name string, entities []volume.Entity) (v volume.Volume, err error) {
	defer s.observe("", "adopt", time.Now(), &err)
	what := "register first-class disk " + id
	return join(ctx, s, id, what, func(ctx context.Context) (v volume.Volume, err error) {
		var errs []error
		for _, c := range s.conns() {
			v, err := c.adopt(ctx, s.opts.Cluster, id, name, entities)
			if err == nil {
				s.locations.put(id, c)
				return v, nil
			}
			wrapError(c, &err, "%s", what)
			if !errors.Is(err, volume.ErrNotFound) {
				errs = append(errs, err)
			}
		}
		if len(errs) > 0 {
			return v, errors.Join(errs...)
		}
		return v, fmt.Errorf("%s: no vcenter has it: %w", what, volume.ErrNotFound)
	})
}

func (c *conn) adopt(ctx context.Context, cluster Cluster, id, name string, entities []volume.Entity) (v volume.Volume, err error) {
	_, err = c.operate(ctx, func(ctx context.Context, svc *services) (ref, error) {
		res, err := cnsmethods.CnsCreateVolume(ctx, svc.cns, &cnstypes.CnsCreateVolume{
			This: manager(), CreateSpecs: []cnstypes.CnsVolumeCreateSpec{{
				Name: name, VolumeType: string(cnstypes.CnsVolumeTypeBlock), Metadata: record(cluster, svc.user, entities, nil),
				BackingObjectDetails: &cnstypes.CnsBlockBackingDetails{BackingDiskId: id},
			}},
		})
		if err != nil {
			return ref{}, err
		}
		return res.Returnval, nil
	})
	switch {
	case fileMissing(err):
		return v, fmt.Errorf("%w: %w", volume.ErrNotFound, err)
	case err != nil && existingID(err) != id:
		return v, err
	}
	return c.volume(ctx, id)
}

// metadata returns the CNS metadata of a new volume: the cluster, and the known objects that use the volume.
func metadata(cluster Cluster, user string, m volume.Metadata) cnstypes.CnsVolumeMetadata {
	return record(cluster, user, m.Entities(), nil)
}

// record returns CNS metadata with the cluster and its objects.
func record(cluster Cluster, user string, set, remove []volume.Entity) cnstypes.CnsVolumeMetadata {
	container := cnstypes.CnsContainerCluster{
		ClusterType: string(cnstypes.CnsClusterTypeKubernetes), ClusterId: cluster.ID, VSphereUser: user,
		ClusterFlavor: cmp.Or(cluster.Flavor, string(cnstypes.CnsClusterFlavorVanilla)), ClusterDistribution: cluster.Distribution,
	}
	md := cnstypes.CnsVolumeMetadata{ContainerCluster: container, ContainerClusterArray: []cnstypes.CnsContainerCluster{container}}
	for _, e := range set {
		md.EntityMetadata = append(md.EntityMetadata, entity(cluster, e))
	}
	for _, e := range remove {
		gone := entity(cluster, volume.Entity{EntityRef: e.EntityRef})
		gone.Delete = true
		md.EntityMetadata = append(md.EntityMetadata, gone)
	}
	return md
}

func entity(cluster Cluster, e volume.Entity) *cnstypes.CnsKubernetesEntityMetadata {
	m := &cnstypes.CnsKubernetesEntityMetadata{
		CnsEntityMetadata: cnstypes.CnsEntityMetadata{EntityName: e.Name, ClusterID: cluster.ID},
		EntityType:        string(e.Kind), Namespace: e.Namespace,
	}
	for _, key := range slices.Sorted(maps.Keys(e.Labels)) {
		m.Labels = append(m.Labels, types.KeyValue{Key: key, Value: e.Labels[key]})
	}
	if r := e.Refers; r.Name != "" {
		m.ReferredEntity = []cnstypes.CnsKubernetesEntityReference{{
			EntityType: string(r.Kind), EntityName: r.Name, Namespace: r.Namespace, ClusterID: cluster.ID,
		}}
	}
	return m
}

// entitiesOf is the inverse of record: the objects of this cluster.
func entitiesOf(cluster Cluster, md cnstypes.CnsVolumeMetadata) []volume.Entity {
	var all []volume.Entity
	for _, found := range md.EntityMetadata {
		m, ok := found.(*cnstypes.CnsKubernetesEntityMetadata)
		if !ok || m.ClusterID != "" && m.ClusterID != cluster.ID {
			continue
		}
		e := volume.Entity{EntityRef: volume.EntityRef{Kind: volume.EntityKind(m.EntityType), Namespace: m.Namespace, Name: m.EntityName}}
		for _, l := range m.Labels {
			if e.Labels == nil {
				e.Labels = map[string]string{}
			}
			e.Labels[l.Key] = l.Value
		}
		if len(m.ReferredEntity) > 0 {
			r := m.ReferredEntity[0]
			e.Refers = volume.EntityRef{Kind: volume.EntityKind(r.EntityType), Namespace: r.Namespace, Name: r.EntityName}
		}
		all = append(all, e)
	}
	return all
}
