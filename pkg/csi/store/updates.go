package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	cnsmethods "github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// UpdateRecord sets and removes objects in the record of a volume. Concurrent updates share calls: see updates. Error:
// volume.ErrNotFound if CNS does not have the volume.
func (s *Store) UpdateRecord(ctx context.Context, id string, set, remove []volume.Entity) (err error) {
	defer s.observe("", "metadata", time.Now(), &err)
	what := "update the record of volume " + id
	// The key is not the id: an update must not delay attaching the volume.
	_, err = join(ctx, s, "record of "+id, fmt.Sprintf("%s: %v, %v", what, set, remove), func(ctx context.Context) (none struct{}, err error) {
		return none, s.atVCenterOf(ctx, id, func(c *conn) (err error) {
			defer wrapError(c, &err, "%s", what)
			return c.updates.write(ctx, update{id: id, set: set, remove: remove, done: make(chan error, 1)})
		})
	})
	return err
}

// updates sends the updates of records to one vCenter, one call at a time. Updates that arrive during a call are sent together in
// the next one, so that none waits for others to arrive.
type updates struct {
	conn    *conn
	sending chan struct{} // of capacity 1: a lock for calls

	mu      sync.Mutex
	waiting []update
}

// update is the update of the record of one volume.
type update struct {
	id          string
	set, remove []volume.Entity
	done        chan error // of capacity 1: receives the outcome
}

// updatesAtOnce is the maximum number of volumes in one call.
const updatesAtOnce = 100

func newUpdates(c *conn) *updates { return &updates{conn: c, sending: make(chan struct{}, 1)} }

// write returns when the update has been sent and its task has ended.
func (w *updates) write(ctx context.Context, u update) error {
	w.mu.Lock()
	w.waiting = append(w.waiting, u)
	w.mu.Unlock()
	for len(u.done) == 0 {
		select {
		case w.sending <- struct{}{}:
			w.flush(ctx)
		case err := <-u.done:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return <-u.done
}

// flush makes one call, and ends the lock for calls.
func (w *updates) flush(ctx context.Context) {
	defer func() { <-w.sending }()
	w.send(ctx, w.next())
}

// next returns the updates for one call, the oldest ones.
func (w *updates) next() []update {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.waiting), updatesAtOnce)
	next := slices.Clone(w.waiting[:n])
	w.waiting = slices.Delete(w.waiting, 0, n)
	return next
}

// send sends updates and delivers their outcomes. If vCenter refuses several together, it sends each alone: one may be the reason.
func (w *updates) send(ctx context.Context, all []update) {
	if len(all) == 0 {
		return
	}
	outcomes, err := w.call(ctx, all)
	if f := (*faultError)(nil); len(all) > 1 && errors.As(err, &f) {
		for i := range all {
			w.send(ctx, all[i:i+1])
		}
		return
	}
	for _, u := range all {
		outcome, ok := outcomes[u.id]
		switch {
		case err != nil:
			outcome = err
		case !ok:
			outcome = errNoResult
		}
		u.done <- outcome
	}
}

// call updates the records of different volumes with one call, and returns the outcomes by volume.
func (w *updates) call(ctx context.Context, all []update) (map[string]error, error) {
	info, err := w.conn.run(ctx, func(ctx context.Context, svc *services) (ref, error) {
		req := &cnstypes.CnsUpdateVolumeMetadata{This: manager()}
		for _, u := range all {
			req.UpdateSpecs = append(req.UpdateSpecs, cnstypes.CnsVolumeMetadataUpdateSpec{
				VolumeId: volumeID(u.id), Metadata: record(w.conn.opts.Cluster, svc.user, u.set, u.remove),
			})
		}
		res, err := cnsmethods.CnsUpdateVolumeMetadata(ctx, svc.cns, req)
		if err != nil {
			return ref{}, err
		}
		return res.Returnval, nil
	})
	if err != nil {
		return nil, err
	}
	batch, _ := info.Result.(cnstypes.CnsVolumeOperationBatchResult) // without results if it is of another type
	outcomes := make(map[string]error, len(batch.VolumeResults))
	for i, r := range batch.VolumeResults {
		if r == nil || i >= len(all) {
			continue
		}
		result := r.GetCnsVolumeOperationResult()
		id := cmp.Or(result.VolumeId.Id, all[i].id)
		outcomes[id] = nil
		if f := fromResult(result.Fault); f != nil {
			outcomes[id] = f
		}
	}
	return outcomes, nil
}
