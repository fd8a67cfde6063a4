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

// errTaskGone says that a vCenter knows no such task any more; nobody knows how it ended.
var errTaskGone = fmt.Errorf("%w: the task's outcome is not known any more", volume.ErrUnavailable)

// tasks waits for a vCenter's tasks: all of them together with one list view and one long poll, whoever began them. It
// polls only while there is something to wait for. Sessions come and go; tasks are waited for on the newest.
type tasks struct {
	conn *conn

	mu      sync.Mutex
	pending map[ref]*task
	changed chan struct{} // of capacity 1: there are more, or fewer, than the view was told of
}

// task is one that is waited for. Its fields are guarded by tasks.mu until told is closed.
type task struct {
	viewed bool          // it is in the view of this round
	news   time.Time     // when something was last heard of it
	told   chan struct{} // closed at its end
	info   types.TaskInfo
	err    error // why its end is not known
}

func newTasks(c *conn) *tasks {
	return &tasks{conn: c, pending: map[ref]*task{}, changed: make(chan struct{}, 1)}
}

// wait returns a task's info when it has ended, well or not. The error is ctx's, or wraps volume.ErrUnavailable when the
// vCenter cannot be asked.
func (t *tasks) wait(ctx context.Context, id ref) (types.TaskInfo, error) {
	p := t.add(id)
	defer t.drop(id)
	check := t.conn.opts.TaskCheck
	timer := time.NewTimer(check)
	defer timer.Stop()
	for {
		select {
		case <-p.told:
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

// add has a task waited for. Tasks are begun by one operation each: there is nobody else who waits for it.
func (t *tasks) add(id ref) *task {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &task{told: make(chan struct{}), news: time.Now()}
	t.pending[id] = p
	notify.Wake(t.changed)
	return p
}

func (t *tasks) drop(id ref) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.pending, id)
}

// waits reports whether an operation waits for a task.
func (t *tasks) waits(id ref) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pending[id] != nil
}

// quiet is for how long nothing has been heard of a task.
func (t *tasks) quiet(p *task) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Since(p.news)
}

// told takes note of what a task has become.
func (t *tasks) told(info types.TaskInfo) {
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

// gone ends the waiting for tasks that the vCenter does not know.
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
	close(p.told)
}

// read asks for tasks directly. One that the vCenter does not know has ended with errTaskGone.
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
				t.told(info)
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

// run waits until ctx ends.
func (t *tasks) run(ctx context.Context) {
	for failures := 0; ; {
		if !t.await(ctx) {
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
		// A direct look finds out whether it is the session, or the vCenter, and what was missed.
		if err := t.read(ctx, t.some()); err != nil && !errors.Is(err, context.Canceled) {
			t.conn.log.Debug("tasks not read", "err", err)
		}
		if backoff.Sleep(ctx, backoff.Backoff{Min: 100 * time.Millisecond, Max: 5 * time.Second}.After(failures)) != nil {
			return
		}
	}
}

// await waits until there is something to wait for.
func (t *tasks) await(ctx context.Context) bool {
	for len(t.some()) == 0 {
		select {
		case <-t.changed:
		case <-ctx.Done():
			return false
		}
	}
	return ctx.Err() == nil
}

// some returns tasks that are waited for, as many as one call may ask for.
func (t *tasks) some() []ref {
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
