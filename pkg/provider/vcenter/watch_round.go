package vcenter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// watch is the state of one [Client.Watch] over its rounds; a round is the life of one collector.
type watch struct {
	client  *Client
	spec    WatchSpec
	handler Handler

	round  int
	synced bool
	seen   map[types.ManagedObjectReference]int // the round in which each object was last told
	events types.ManagedObjectReference         // the collector of this round's events; zero without one

	owner    *Session // whose the leftovers are
	leftover []func(context.Context) error
}

// run is one round on session s: from making the collector to the error that ends it.
func (w *watch) run(parent context.Context, s *Session) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(errors.New("session ended")) })()
	w.round++
	w.sweep(ctx, s)
	pc, err := w.collector(ctx, s)
	if err == nil {
		err = w.followEvents(ctx, s, pc)
	}
	if err == nil {
		err = w.follow(ctx, s, pc)
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if !unreachable(err) && !expired(err) {
		w.sweep(context.WithoutCancel(parent), s)
	}
	return fmt.Errorf("vcenter %q: watch: %w", w.client.cfg.Name, err)
}

// collector makes a property collector of its own with a filter over a container view: three calls, each with its own time, for
// a vCenter that is slow may need all of it for each.
func (w *watch) collector(ctx context.Context, s *Session) (pc *property.Collector, err error) {
	kinds := slices.Sorted(maps.Keys(w.spec.Properties))
	var v *view.ContainerView
	err = w.call(ctx, s, func(ctx context.Context) (err error) {
		v, err = view.NewManager(s.Vim).CreateContainerView(ctx, s.Vim.ServiceContent.RootFolder, kinds, true)
		return err
	})
	if err != nil {
		return nil, err
	}
	w.note(s, v.Destroy)
	err = w.call(ctx, s, func(ctx context.Context) (err error) {
		pc, err = property.DefaultCollector(s.Vim).Create(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	w.note(s, pc.Destroy)
	filter := types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{
			Obj:       v.Reference(),
			Skip:      new(true),
			SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: v.Reference().Type, Path: "view"}},
		}},
	}
	for _, kind := range kinds {
		filter.PropSet = append(filter.PropSet, types.PropertySpec{Type: kind, PathSet: w.spec.Properties[kind]})
	}
	err = w.call(ctx, s, func(ctx context.Context) error {
		_, err := pc.CreateFilter(ctx, types.CreateFilter{Spec: filter})
		return err
	})
	return pc, err
}

// follow polls pc for ever: without waiting until everything has been told once, then with long polls.
func (w *watch) follow(ctx context.Context, s *Session, pc *property.Collector) error {
	version := ""
	for {
		var maxWait time.Duration
		if w.synced {
			maxWait = w.client.cfg.MaxWait
		}
		set, err := w.poll(ctx, s, pc, version, maxWait)
		if err != nil {
			return err
		}
		truncated := false
		if set != nil {
			version = set.Version
			truncated = set.Truncated != nil && *set.Truncated
			if err := w.deliver(ctx, s, pc, set); err != nil {
				return err
			}
			if err := w.rest(ctx, set); err != nil {
				return err
			}
		}
		if !w.synced && !truncated {
			w.forget()
			w.synced = true
			w.handler.Synced()
		}
	}
}

// poll is one WaitForUpdatesEx. Without a change within maxWait it returns nil.
func (w *watch) poll(ctx context.Context, s *Session, pc *property.Collector, version string, maxWait time.Duration) (*types.UpdateSet, error) {
	deadline := time.Now().Add(maxWait + w.client.cfg.CallTimeout)
	var set *types.UpdateSet
	err := w.client.try(ctx, deadline, s, func(ctx context.Context, s *Session) error {
		res, err := methods.WaitForUpdatesEx(ctx, s.Vim, &types.WaitForUpdatesEx{
			This:    pc.Reference(),
			Version: version,
			Options: &types.WaitOptions{MaxWaitSeconds: new(int32(maxWait / time.Second))},
		})
		if err == nil {
			set = res.Returnval
		}
		return err
	})
	return set, err
}

// call runs one short call of the watch under the call timeout.
func (w *watch) call(ctx context.Context, s *Session, f func(context.Context) error) error {
	deadline := time.Now().Add(w.client.cfg.CallTimeout)
	return w.client.try(ctx, deadline, s, func(ctx context.Context, _ *Session) error { return f(ctx) })
}
