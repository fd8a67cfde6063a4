package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

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
