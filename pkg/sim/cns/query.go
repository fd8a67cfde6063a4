package cns

import (
	"github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns/internal/wire"
)

// CnsQueryVolume returns a page of the volumes that meet the filter, with all that is known of them.
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

// CnsQueryAllVolume returns all volumes that meet the filter, with the selected fields. It knows no pages: cursors are
// ignored.
func (m *Manager) CnsQueryAllVolume(_ *simulator.Context, req *cnstypes.CnsQueryAllVolume) soap.HasFault {
	return &wire.CnsQueryAllVolumeBody{Res: &wire.CnsQueryAllVolumeResponse{
		Returnval: m.query(newFilter(&req.Filter), page{limit: 1 << 62}, selected(&req.Selection)),
	}}
}

// CnsQueryAsync is CnsQueryVolume as a task, with a selection.
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

// query returns what is on the page. Volumes are in the order in which they came, so that those that come while a client
// reads page after page move none from one page to another. The lock is held while records are looked at and those that
// are on the page copied; state of datastores is asked for without it.
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

// queryJudged is query with conditions that need the state of all candidates' datastores.
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

// records copies the records of the volumes that match and are on the page. What records point to is never changed in
// place, only replaced.
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
