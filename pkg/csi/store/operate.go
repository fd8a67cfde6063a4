package store

import (
	"context"
	"errors"
	"fmt"

	cnsmethods "github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"
)

var errNoResult = errors.New("the task ended without a result")

// run starts a task and waits for its end. The error is the call's, or the task's fault.
func (c *conn) run(ctx context.Context, begin func(context.Context, *services) (ref, error)) (types.TaskInfo, error) {
	var id ref
	err := c.call(ctx, func(ctx context.Context, s *services) (err error) {
		id, err = begin(ctx, s)
		return err
	})
	if err != nil {
		return types.TaskInfo{}, err
	}
	info, err := c.tasks.wait(ctx, id)
	if err != nil {
		return info, fmt.Errorf("task %s: %w", id.Value, err)
	}
	if info.State == types.TaskInfoStateError {
		if f := fromResult(info.Error); f != nil {
			return info, f
		}
		return info, fmt.Errorf("task %s: ended in an error without a fault", id.Value)
	}
	return info, nil
}

// operate is run for CNS operations on one object, whose result contains its outcome. It may return the result together with an
// error.
func (c *conn) operate(ctx context.Context, begin func(context.Context, *services) (ref, error)) (cnstypes.BaseCnsVolumeOperationResult, error) {
	info, err := c.run(ctx, begin)
	if err != nil {
		return nil, err
	}
	batch, ok := info.Result.(cnstypes.CnsVolumeOperationBatchResult)
	if !ok || len(batch.VolumeResults) == 0 || batch.VolumeResults[0] == nil {
		return nil, errNoResult
	}
	result := batch.VolumeResults[0]
	if f := fromResult(result.GetCnsVolumeOperationResult().Fault); f != nil {
		return result, f
	}
	return result, nil
}

// query queries all pages of volumes from CNS.
func (c *conn) query(ctx context.Context, filter cnstypes.CnsQueryFilter) ([]cnstypes.CnsVolume, error) {
	var found []cnstypes.CnsVolume
	limit := int64(c.opts.Page)
	for offset := int64(0); ; {
		filter.Cursor = &cnstypes.CnsCursor{Offset: offset, Limit: limit}
		var res *cnstypes.CnsQueryVolumeResponse
		err := c.call(ctx, func(ctx context.Context, s *services) (err error) {
			res, err = cnsmethods.CnsQueryVolume(ctx, s.cns, &cnstypes.CnsQueryVolume{This: manager(), Filter: &filter})
			return err
		})
		if err != nil {
			return nil, err
		}
		page := res.Returnval
		found = append(found, page.Volumes...)
		next := page.Cursor.Offset
		if len(page.Volumes) == 0 || next <= offset || next >= page.Cursor.TotalRecords {
			return found, nil
		}
		offset = next
	}
}
