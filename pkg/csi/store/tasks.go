package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
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

func readTasks(ctx context.Context, c *vim25.Client, ids []ref) ([]types.TaskInfo, error) {
	var found []mo.Task
	if err := property.DefaultCollector(c).Retrieve(ctx, ids, []string{"info"}, &found); err != nil {
		return nil, err
	}
	infos := make([]types.TaskInfo, len(found))
	for i, t := range found {
		infos[i] = t.Info
		infos[i].Task = t.Self
	}
	return infos, nil
}

// recentTasks reads the tasks of a vCenter that are running or ended recently.
func recentTasks(ctx context.Context, c *vim25.Client) ([]types.TaskInfo, error) {
	res, err := property.DefaultCollector(c).RetrieveProperties(ctx, types.RetrieveProperties{SpecSet: []types.PropertyFilterSpec{{
		PropSet: []types.PropertySpec{{Type: "Task", PathSet: []string{"info"}}},
		ObjectSet: []types.ObjectSpec{{
			Obj: *c.ServiceContent.TaskManager, Skip: new(true),
			SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "TaskManager", Path: "recentTask"}},
		}},
	}}})
	if err != nil {
		return nil, err
	}
	var infos []types.TaskInfo
	for _, content := range res.Returnval {
		for _, p := range content.PropSet {
			if info, ok := p.Val.(types.TaskInfo); ok {
				info.Task = content.Obj
				infos = append(infos, info)
			}
		}
	}
	return infos, nil
}

func contains(list []ref, id ref) bool { return slices.Contains(list, id) }

func without(list []ref, id ref) []ref {
	return slices.DeleteFunc(slices.Clone(list), func(r ref) bool { return r == id })
}

func intersection(a, b []ref) []ref {
	return slices.DeleteFunc(slices.Clone(a), func(r ref) bool { return !slices.Contains(b, r) })
}

// callTime bounds the calls of a round, and the time that a poll may take beyond the requested wait.
const callTime = 20 * time.Second

// addDelay is how long a new task waits for others before it is added to the view. Most have ended by then, so that the first
// poll returns their outcome.
const addDelay = 5 * time.Millisecond

var errSessionEnded = errors.New("session ended")

// round is the lifetime of one list view and its collector, which end with their session.
type round struct {
	*tasks
	session     *vcenter.Session
	view        *view.ListView
	pc          *property.Collector
	inView      map[ref]bool  // used only by change
	viewChanged chan struct{} // of capacity 1: the view has changed
}

// round waits for tasks on a session until it ends or fails; worked reports that a poll succeeded.
func (t *tasks) round(parent context.Context, s *vcenter.Session) (worked bool, err error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel(nil)
	all.Go(func() {
		select {
		case <-s.Done():
			cancel(errSessionEnded)
		case <-ctx.Done():
		}
	})
	r := &round{tasks: t, session: s, inView: map[ref]bool{}, viewChanged: make(chan struct{}, 1)}
	defer r.destroy(parent)
	if err := r.open(ctx); err != nil {
		return false, err
	}
	all.Go(func() {
		if err := r.change(ctx); err != nil {
			cancel(err)
		}
	})
	worked, err = r.follow(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return worked, err
}

// open creates the view with the current tasks, and a separate collector, because the session's default one is shared.
func (r *round) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	add, _ := r.differences()
	v, err := view.NewManager(r.session.Vim).CreateListView(ctx, add)
	if err != nil {
		return err
	}
	r.view = v
	if r.pc, err = property.DefaultCollector(r.session.Vim).Create(ctx); err != nil {
		return err
	}
	_, err = r.pc.CreateFilter(ctx, types.CreateFilter{Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{
			Obj:       v.Reference(),
			Skip:      new(true),
			SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "ListView", Path: "view"}},
		}},
		PropSet:                       []types.PropertySpec{{Type: "Task", PathSet: []string{"info"}}},
		ReportMissingObjectsInResults: new(true),
	}})
	if err == nil {
		r.viewUpdated(add, nil)
	}
	return err
}

// destroy destroys the view and the collector, unless the session has ended. The parent may have ended.
func (r *round) destroy(parent context.Context) {
	select {
	case <-r.session.Done():
		return
	default:
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(parent), 5*time.Second)
	defer cancel()
	if r.pc != nil {
		if err := r.pc.Destroy(ctx); err != nil {
			r.conn.log.Debug("cannot destroy the task collector", "err", err)
			return
		}
	}
	if r.view != nil {
		if err := r.view.Destroy(ctx); err != nil {
			r.conn.log.Debug("cannot destroy the task view", "err", err)
		}
	}
}

// change updates the view when tasks are added or have ended, in one call.
func (r *round) change(ctx context.Context) error {
	for {
		select {
		case <-r.changed:
		case <-ctx.Done():
			return nil
		}
		_ = backoff.Sleep(ctx, addDelay)
		add, remove := r.differences()
		if len(add) == 0 && len(remove) < 256 {
			continue // ended tasks may stay until others are added
		}
		callCtx, cancel := context.WithTimeout(ctx, callTime)
		res, err := methods.ModifyListView(callCtx, r.session.Vim, &types.ModifyListView{This: r.view.Reference(), Add: add, Remove: remove})
		cancel()
		if err != nil {
			return err
		}
		r.gone(intersection(res.Returnval, add))
		r.viewUpdated(add, remove)
	}
}

// differences returns the differences between the view and the tasks.
func (r *round) differences() (add, remove []ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.pending {
		if !r.inView[id] {
			add = append(add, id)
		}
	}
	for id := range r.inView {
		if r.pending[id] == nil {
			remove = append(remove, id)
		}
	}
	return add, remove
}

// viewUpdated records an update of the view, and triggers a poll.
func (r *round) viewUpdated(add, remove []ref) {
	for _, id := range remove {
		delete(r.inView, id)
	}
	for _, id := range add {
		r.inView[id] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, p := range r.pending {
		p.viewed = r.inView[id]
	}
	notify.Wake(r.viewChanged)
}

// hasAwaited reports whether the view has an awaited task.
func (r *round) hasAwaited() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pending {
		if p.viewed {
			return true
		}
	}
	return false
}

// follow polls while the view has awaited tasks.
func (r *round) follow(ctx context.Context) (worked bool, err error) {
	version := ""
	for {
		if !r.hasAwaited() {
			select {
			case <-r.viewChanged:
				continue
			case <-ctx.Done():
				return worked, ctx.Err()
			}
		}
		set, err := r.poll(ctx, version)
		if err != nil {
			return worked, err
		}
		worked = true
		if set == nil {
			continue
		}
		version = set.Version
		for _, f := range set.FilterSet {
			r.applyUpdate(f)
		}
	}
}

func (r *round) poll(ctx context.Context, version string) (*types.UpdateSet, error) {
	wait := r.conn.opts.PollWait
	ctx, cancel := context.WithTimeout(ctx, wait+callTime)
	defer cancel()
	res, err := methods.WaitForUpdatesEx(ctx, r.session.Vim, &types.WaitForUpdatesEx{
		This: r.pc.Reference(), Version: version, Options: &types.WaitOptions{MaxWaitSeconds: new(int32(wait / time.Second))},
	})
	if err != nil {
		return nil, err
	}
	return res.Returnval, nil
}

// applyUpdate applies an update.
func (r *round) applyUpdate(f types.PropertyFilterUpdate) {
	for _, o := range f.ObjectSet {
		if o.Kind == types.ObjectUpdateKindLeave {
			continue // not awaited, or read directly soon
		}
		for _, c := range o.ChangeSet {
			if info, ok := c.Val.(types.TaskInfo); ok && c.Name == "info" {
				info.Task = o.Obj
				r.update(info)
			}
		}
	}
	for _, m := range f.MissingSet {
		r.gone([]ref{m.Obj}) // or not readable, with the same consequence
	}
}
