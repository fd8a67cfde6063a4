package cns

import (
	"cmp"
	"slices"

	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns/internal/wire"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// CnsQueryVolume returns a page of the volumes that meet the filter, with all fields.
func (m *Manager) CnsQueryVolume(_ *simulator.Context, req *cnstypes.CnsQueryVolume) soap.HasFault {
	body := new(wire.CnsQueryVolumeBody)
	if req.Filter == nil {
		body.Fault_ = simulator.Fault("", &types.InvalidArgument{InvalidProperty: "filter"})
		return body
	}
	p, fault := pageOf(req.Filter.GetCnsQueryFilter().Cursor, defaultVolumes)
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	body.Res = &wire.CnsQueryVolumeResponse{Returnval: m.query(newFilter(req.Filter), p, nil)}
	return body
}

// CnsQueryAllVolume returns all volumes that meet the filter, with the selected fields. It ignores cursors.
func (m *Manager) CnsQueryAllVolume(_ *simulator.Context, req *cnstypes.CnsQueryAllVolume) soap.HasFault {
	return &wire.CnsQueryAllVolumeBody{Res: &wire.CnsQueryAllVolumeResponse{
		Returnval: m.query(newFilter(&req.Filter), page{limit: 1 << 62}, selected(&req.Selection)),
	}}
}

// CnsQueryAsync is CnsQueryVolume as a task, with selected fields.
func (m *Manager) CnsQueryAsync(_ *simulator.Context, req *cnstypes.CnsQueryAsync) soap.HasFault {
	return &methods.CnsQueryAsyncBody{Res: &cnstypes.CnsQueryAsyncResponse{
		Returnval: m.task("CnsQueryAsync", func(*simulator.Context) (types.AnyType, types.BaseMethodFault) {
			p, fault := pageOf(req.Filter.Cursor, defaultVolumes)
			if fault != nil {
				return nil, fault
			}
			found := &wire.CnsAsyncQueryResult{QueryResult: m.query(newFilter(&req.Filter), p, selected(req.Selection))}
			return batch(found), nil
		}),
	}}
}

// query returns a page. Volumes are ordered by age, so that new ones do not move others between pages. It holds the lock to
// select and copy records; it reads datastores without it.
func (m *Manager) query(f *filter, p page, s selection) wire.CnsQueryResult {
	if f.judges() {
		return m.queryJudged(f, p, s)
	}
	v := m.newView(s)
	records, to, total := m.records(f, p)
	shown := make([]wire.CnsVolume, len(records))
	for i := range records {
		shown[i] = s.trim(v.show(&records[i]))
	}
	return wire.CnsQueryResult{Volumes: shown, Cursor: p.next(to, total)}
}

// queryJudged is query for conditions on the datastores of all candidates.
func (m *Manager) queryJudged(f *filter, p page, s selection) wire.CnsQueryResult {
	records, _, _ := m.records(f, page{limit: 1 << 62})
	v := m.newView(nil)
	var matching []wire.CnsVolume
	for i := range records {
		if shown := v.show(&records[i]); f.judged(&shown) {
			matching = append(matching, s.trim(shown))
		}
	}
	from, to := p.bounds(len(matching))
	return wire.CnsQueryResult{Volumes: matching[from:to], Cursor: p.next(to, len(matching))}
}

// records copies the matching records of a page. What records point to is replaced, never changed.
func (m *Manager) records(f *filter, p page) (on []volume, to, total int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range f.candidates(m) {
		if !f.matches(v) {
			continue
		}
		if int64(total) >= p.offset && int64(len(on)) < p.limit {
			on = append(on, *v)
		}
		total++
	}
	return on, min(int(min(p.offset, int64(total)))+len(on), total), total
}

// CnsQueryVolumeInfo returns the first-class disks of volumes, from vSphere's catalogue.
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

// view renders volumes for one query, reading each datastore once. It is not safe for concurrent use.
type view struct {
	m         *Manager
	ctx       *simulator.Context
	selection selection
	places    map[vc.Ref]place
	policies  map[policyOn]pbmtypes.PbmComplianceStatus
}

// place is a datastore as queries show it.
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

// show renders the full record of a volume.
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
	if w.selection != nil && len(w.selection) == 0 { // the selection does not need it
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

// selection is the set of fields that a query returns, beyond the ID; nil: all.
type selection map[string]bool

// metadataSelected selects the metadata; govmomi has no name for it.
const metadataSelected = "VOLUME_METADATA"

// selected parses a selection. One without names selects only the ID. Names may be those of the enumeration or of the fields.
// Source: vSAN Management API, CnsQuerySelection.
func selected(q *cnstypes.CnsQuerySelection) selection {
	if q == nil {
		return nil
	}
	s := make(selection, len(q.Names))
	names := fieldNames()
	for _, name := range q.Names {
		if known, ok := names[name]; ok {
			name = string(known)
		}
		s[name] = true
	}
	return s
}

// fieldNames maps the names of fields, which CNS accepts, too.
func fieldNames() map[string]cnstypes.QuerySelectionNameType {
	return map[string]cnstypes.QuerySelectionNameType{
		"name":                         cnstypes.QuerySelectionNameTypeVolumeName,
		"volumeType":                   cnstypes.QuerySelectionNameTypeVolumeType,
		"backingObjectDetails":         cnstypes.QuerySelectionNameTypeBackingObjectDetails,
		"complianceStatus":             cnstypes.QuerySelectionNameTypeComplianceStatus,
		"datastoreAccessibilityStatus": cnstypes.QuerySelectionNameTypeDataStoreAccessibility,
		"healthStatus":                 cnstypes.QuerySelectionNameTypeHealthStatus,
		"datastoreUrl":                 cnstypes.QuerySelectionNameTypeDataStoreUrl,
		"storagePolicyId":              cnstypes.QuerySelectionNameTypePolicyId,
		"metadata":                     metadataSelected,
	}
}

func (s selection) has(name cnstypes.QuerySelectionNameType) bool { return s == nil || s[string(name)] }

// trim removes the fields that are not selected.
func (s selection) trim(v wire.CnsVolume) wire.CnsVolume {
	if s == nil {
		return v
	}
	t := wire.CnsVolume{VolumeId: v.VolumeId}
	if s.has(cnstypes.QuerySelectionNameTypeVolumeName) {
		t.Name = v.Name
	}
	if s.has(cnstypes.QuerySelectionNameTypeVolumeType) {
		t.VolumeType = v.VolumeType
	}
	if s.has(cnstypes.QuerySelectionNameTypeBackingObjectDetails) {
		t.BackingObjectDetails = v.BackingObjectDetails
	}
	if s.has(cnstypes.QuerySelectionNameTypeComplianceStatus) {
		t.ComplianceStatus = v.ComplianceStatus
	}
	if s.has(cnstypes.QuerySelectionNameTypeDataStoreAccessibility) {
		t.DatastoreAccessibilityStatus = v.DatastoreAccessibilityStatus
	}
	if s.has(cnstypes.QuerySelectionNameTypeHealthStatus) {
		t.HealthStatus = v.HealthStatus
	}
	if s.has(cnstypes.QuerySelectionNameTypeDataStoreUrl) {
		t.DatastoreUrl = v.DatastoreUrl
	}
	if s.has(cnstypes.QuerySelectionNameTypePolicyId) {
		t.StoragePolicyId = v.StoragePolicyId
	}
	if s.has(metadataSelected) {
		t.Metadata = v.Metadata
	}
	return t
}

// The default and maximum number of records in an answer. Source: vSAN Management API, CnsCursor; for snapshots, upstream's
// driver (pkg/common/utils, DefaultQuerySnapshotLimit).
const (
	defaultVolumes   = 100
	defaultSnapshots = 128
	maxRecords       = 1000
)

// page is the part of a list that a cursor selects.
type page struct{ offset, limit int64 }

// pageOf parses a cursor; nil selects the first records, up to the default number.
func pageOf(c *cnstypes.CnsCursor, limit int64) (page, types.BaseMethodFault) {
	if c == nil {
		return page{limit: limit}, nil
	}
	if c.Offset < 0 || c.Limit < 0 {
		return page{}, &types.InvalidArgument{InvalidProperty: "cursor"}
	}
	if c.Limit > 0 {
		limit = min(c.Limit, maxRecords)
	}
	return page{offset: c.Offset, limit: limit}, nil
}

// bounds returns the range of the page in a list of that length.
func (p page) bounds(total int) (from, to int) {
	from = int(min(p.offset, int64(total)))
	return from, from + int(min(p.limit, int64(total-from)))
}

// next returns the cursor of the next page. At the end its offset is the total, even if the requested offset was larger: clients
// compare the two to end their loop.
func (p page) next(to, total int) cnstypes.CnsCursor {
	return cnstypes.CnsCursor{Offset: int64(to), Limit: p.limit, TotalRecords: int64(total)}
}

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
	return !slices.ContainsFunc(f.entities, func(e entityFilter) bool { return !anyEntity(metadata, e.matches) })
}

func anyEntity(metadata []cnstypes.CnsVolumeMetadata, f func(cnstypes.BaseCnsEntityMetadata) bool) bool {
	return slices.ContainsFunc(metadata, func(md cnstypes.CnsVolumeMetadata) bool {
		return slices.ContainsFunc(md.EntityMetadata, f)
	})
}

func (f *filter) labeled(e cnstypes.BaseCnsEntityMetadata) bool {
	return slices.ContainsFunc(e.GetCnsEntityMetadata().Labels, func(label types.KeyValue) bool {
		return slices.Contains(f.query.Labels, label)
	})
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
