package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

type ref = types.ManagedObjectReference

// errTaskGone reports that a vCenter no longer has a task, so that its outcome is unknown.
var errTaskGone = fmt.Errorf("%w: the task's outcome is no longer known", volume.ErrUnavailable)

// tasks waits for all of a vCenter's tasks with one list view and one long poll. It polls only while operations wait. Sessions
// change; it uses the newest.
type tasks struct {
	conn *conn

	mu      sync.Mutex
	pending map[ref]*task
	changed chan struct{} // of capacity 1: pending differs from the view
}

// task is one awaited task. Its fields are guarded by tasks.mu until done is closed.
type task struct {
	viewed bool          // it is in the view of this round
	news   time.Time     // of the last update
	done   chan struct{} // closed at its end
	info   types.TaskInfo
	err    error // why its outcome is unknown
}

func newTasks(c *conn) *tasks {
	return &tasks{conn: c, pending: map[ref]*task{}, changed: make(chan struct{}, 1)}
}

// wait returns a task's info when it has ended, successfully or not. The error is ctx's, or wraps volume.ErrUnavailable if the
// vCenter cannot be queried.
func (t *tasks) wait(ctx context.Context, id ref) (types.TaskInfo, error) {
	p := t.add(id)
	defer t.drop(id)
	check := t.conn.opts.TaskCheck
	timer := time.NewTimer(check)
	defer timer.Stop()
	for {
		select {
		case <-p.done:
			return p.info, p.err
		case <-ctx.Done():
			return types.TaskInfo{}, context.Cause(ctx)
		case <-timer.C:
		}
		if quiet := t.quiet(p); quiet < check {
			timer.Reset(check - quiet)
			continue
		}
		if err := t.read(ctx, []ref{id}); err != nil {
			return types.TaskInfo{}, err
		}
		timer.Reset(check)
	}
}

// add adds a task. Only one operation waits for each task, the one that started it.
func (t *tasks) add(id ref) *task {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &task{done: make(chan struct{}), news: time.Now()}
	t.pending[id] = p
	notify.Wake(t.changed)
	return p
}

func (t *tasks) drop(id ref) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.pending, id)
}

func (t *tasks) waits(id ref) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pending[id] != nil
}

// quiet returns the time since the last update of a task.
func (t *tasks) quiet(p *task) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Since(p.news)
}

// update applies an update of a task.
func (t *tasks) update(info types.TaskInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.pending[info.Task]
	if p == nil {
		return
	}
	p.news = time.Now()
	if info.State == types.TaskInfoStateSuccess || info.State == types.TaskInfoStateError {
		p.info = info
		t.end(info.Task, p)
	}
}

// gone ends the wait for tasks that the vCenter does not have.
func (t *tasks) gone(ids []ref) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		if p := t.pending[id]; p != nil {
			p.err = errTaskGone
			t.end(id, p)
		}
	}
}

func (t *tasks) end(id ref, p *task) {
	delete(t.pending, id)
	close(p.done)
}

// read reads tasks directly. A task that the vCenter does not have ends with errTaskGone.
func (t *tasks) read(ctx context.Context, ids []ref) error {
	for len(ids) > 0 {
		var infos []types.TaskInfo
		err := t.conn.call(ctx, func(ctx context.Context, s *services) (err error) {
			infos, err = readTasks(ctx, s.vim, ids)
			return err
		})
		var gone *types.ManagedObjectNotFound
		if f, ok := faultOf(err).(*types.ManagedObjectNotFound); ok {
			gone = f
		}
		switch {
		case err == nil:
			for _, info := range infos {
				t.update(info)
			}
			return nil
		case gone == nil || !contains(ids, gone.Obj):
			return err
		}
		t.gone([]ref{gone.Obj})
		ids = without(ids, gone.Obj)
	}
	return nil
}

func (t *tasks) run(ctx context.Context) {
	for failures := 0; ; {
		if !t.waitForTasks(ctx) {
			return
		}
		s, err := t.conn.client.Wait(ctx)
		if err != nil {
			return
		}
		worked, err := t.round(ctx, s)
		if ctx.Err() != nil {
			return
		}
		if failures++; worked {
			failures = 1
		}
		t.conn.log.Debug("task watch lost", "err", err)
		// A direct read shows whether the session or the vCenter failed, and gets missed updates.
		if err := t.read(ctx, t.ids()); err != nil && !errors.Is(err, context.Canceled) {
			t.conn.log.Debug("tasks not read", "err", err)
		}
		if backoff.Sleep(ctx, backoff.Backoff{Min: 100 * time.Millisecond, Max: 5 * time.Second}.After(failures)) != nil {
			return
		}
	}
}

// waitForTasks waits until there are tasks.
func (t *tasks) waitForTasks(ctx context.Context) bool {
	for len(t.ids()) == 0 {
		select {
		case <-t.changed:
		case <-ctx.Done():
			return false
		}
	}
	return ctx.Err() == nil
}

// ids returns awaited tasks, at most as many as one call may read.
func (t *tasks) ids() []ref {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ids []ref
	for id := range t.pending {
		if ids = append(ids, id); len(ids) == 500 {
			break
		}
	}
	return ids
}
