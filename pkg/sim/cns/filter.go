package cns

import (
	"cmp"
	"slices"

	cnstypes "github.com/vmware/govmomi/cns/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns/internal/wire"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// filter is a parsed query filter.
type filter struct {
	ids, names, clusters map[string]bool
	datastores           map[vc.Ref]bool
	entities             []entityFilter
	query                *cnstypes.CnsQueryFilter
}

// entityFilter matches the Kubernetes objects that use a volume: one must have that kind (empty: any) and one of the names.
type entityFilter struct {
	kind      cnstypes.CnsKubernetesEntityType
	namespace bool // the names are namespaces
	names     map[string]bool
}

// newFilter parses a query's filter. Conditions of different kinds must all hold; of the same kind, one.
func newFilter(base cnstypes.BaseCnsQueryFilter) *filter {
	q := base.GetCnsQueryFilter()
	f := &filter{query: q, names: set(q.Names), clusters: set(q.ContainerClusterIds), datastores: set(q.Datastores)}
	if len(q.VolumeIds) > 0 {
		f.ids = make(map[string]bool, len(q.VolumeIds))
		for _, id := range q.VolumeIds {
			f.ids[id.Id] = true
		}
	}
	if k, ok := base.(*cnstypes.CnsKubernetesQueryFilter); ok {
		for _, e := range []entityFilter{
			{namespace: true, names: set(k.Namespaces)},
			{kind: cnstypes.CnsKubernetesEntityTypePOD, names: set(k.PodNames)},
			{kind: cnstypes.CnsKubernetesEntityTypePVC, names: set(k.PvcNames)},
			{kind: cnstypes.CnsKubernetesEntityTypePV, names: set(k.PvNames)},
		} {
			if e.names != nil {
				f.entities = append(f.entities, e)
			}
		}
	}
	return f
}

func set[T comparable](list []T) map[T]bool {
	if len(list) == 0 {
		return nil
	}
	s := make(map[T]bool, len(list))
	for _, e := range list {
		s[e] = true
	}
	return s
}

// matches reports whether a volume's record meets the filter, without the conditions of [filter.judged]. The caller holds the
// lock.
func (f *filter) matches(v *volume) bool {
	return (f.ids == nil || f.ids[v.id]) &&
		(f.names == nil || f.names[v.name]) &&
		(f.datastores == nil || f.datastores[v.datastore]) &&
		(f.query.StoragePolicyId == "" || f.query.StoragePolicyId == v.policy) &&
		(f.query.ChangedBlockTracking == "" || f.query.ChangedBlockTracking == v.tracking()) &&
		f.matchesMetadata(v.metadata)
}

func (f *filter) matchesMetadata(metadata []cnstypes.CnsVolumeMetadata) bool {
	if f.clusters != nil && !slices.ContainsFunc(metadata, func(m cnstypes.CnsVolumeMetadata) bool {
		return f.clusters[m.ContainerCluster.ClusterId]
	}) {
		return false
	}
	if len(f.query.Labels) > 0 && !anyEntity(metadata, f.labeled) {
		return false
	}
	for _, e := range f.entities {
		if !anyEntity(metadata, e.matches) {
			return false
		}
	}
	return true
}

func anyEntity(metadata []cnstypes.CnsVolumeMetadata, f func(cnstypes.BaseCnsEntityMetadata) bool) bool {
	for _, md := range metadata {
		if slices.ContainsFunc(md.EntityMetadata, f) {
			return true
		}
	}
	return false
}

func (f *filter) labeled(e cnstypes.BaseCnsEntityMetadata) bool {
	for _, label := range e.GetCnsEntityMetadata().Labels {
		if slices.Contains(f.query.Labels, label) {
			return true
		}
	}
	return false
}

func (e entityFilter) matches(md cnstypes.BaseCnsEntityMetadata) bool {
	k, ok := md.(*cnstypes.CnsKubernetesEntityMetadata)
	if !ok {
		return false
	}
	if e.namespace {
		return e.names[k.Namespace]
	}
	return k.EntityType == string(e.kind) && e.names[k.EntityName]
}

// judges reports whether the filter has conditions on datastores.
func (f *filter) judges() bool {
	q := f.query
	return q.ComplianceStatus != "" || q.DatastoreAccessibilityStatus != "" || q.HealthStatus != ""
}

// judged reports whether a volume meets the conditions on its datastore.
func (f *filter) judged(v *wire.CnsVolume) bool {
	q := f.query
	return (q.ComplianceStatus == "" || q.ComplianceStatus == v.ComplianceStatus) &&
		(q.DatastoreAccessibilityStatus == "" || q.DatastoreAccessibilityStatus == v.DatastoreAccessibilityStatus) &&
		(q.HealthStatus == "" || q.HealthStatus == v.HealthStatus)
}

// candidates returns the volumes that may match, in order. The caller holds the lock.
func (f *filter) candidates(m *Manager) []*volume {
	if f.ids == nil {
		return m.order
	}
	found := make([]*volume, 0, len(f.ids))
	for id := range f.ids {
		if v := m.volumes[id]; v != nil {
			found = append(found, v)
		}
	}
	slices.SortFunc(found, func(a, b *volume) int { return cmp.Compare(a.number, b.number) })
	return found
}
