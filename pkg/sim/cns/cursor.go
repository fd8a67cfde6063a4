package cns

import (
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"
)

// How many records CNS returns at once, when nothing is asked for and at most. Source: vSAN Management API, CnsCursor;
// for snapshots, upstream's driver (pkg/common/utils, DefaultQuerySnapshotLimit).
const (
	defaultVolumes   = 100
	defaultSnapshots = 128
	maxRecords       = 1000
)

// page is a part of a list that a cursor asks for.
type page struct{ offset, limit int64 }

// pageOf reads a cursor; nil asks for the first records, as many as CNS returns by itself.
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

// bounds are what of a list of that length is on the page.
func (p page) bounds(total int) (from, to int) {
	from = int(min(p.offset, int64(total)))
	return from, from + int(min(p.limit, int64(total-from)))
}

// next is the cursor that asks for what follows. At the end its offset is the total, also when the records were fewer than
// the offset asked for: clients compare the two to end their loop.
func (p page) next(to, total int) cnstypes.CnsCursor {
	return cnstypes.CnsCursor{Offset: int64(to), Limit: p.limit, TotalRecords: int64(total)}
}
