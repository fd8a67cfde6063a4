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

// WatchSpec selects what to watch below the root folder.
type WatchSpec struct {
	// Properties are the property paths per managed object type ("VirtualMachine": {"name", "runtime.powerState"}). A base
	// type includes its derived types; do not list both.
	Properties map[string][]string
	// Related lists, for a path, other paths that are read with it when it has changed and they have not. A handler needs them
	// if it does not keep their last values.
	Related map[string][]string
	// Events are the types of events ("com.vmware.cis.tagging.attach") that an [EventHandler] is notified of.
	Events []string
}

// Kind is the kind of an [Update].
type Kind string

// The kinds of [Update].
const (
	// Enter: the object exists. Changes hold all its known properties and replace the earlier ones.
	Enter Kind = "enter"
	// Modify: Changes hold the properties that changed.
	Modify Kind = "modify"
	// Leave: the object is no longer watched. Changes are empty.
	Leave Kind = "leave"
)

// Update is a change of one object.
type Update struct {
	Kind Kind
	Ref  types.ManagedObjectReference
	// Changes hold whole values under exactly the paths of the [WatchSpec], never parts of them, so that
	// mo.ApplyPropertyChange may be used; a nil Val means that the property is unset.
	Changes []types.PropertyChange
	// Missing are the paths that the vCenter did not return, for example for lack of permission.
	Missing []string
}

// Handler receives the updates of a watch. Its methods are called one at a time from the goroutine that called
// [Client.Watch]. They should not block, because that delays further updates.
type Handler interface {
	// Update receives the changes since the last call, in the vCenter's order.
	Update([]Update)
	// Synced reports that every object has been delivered: until Lost, any other object does not exist.
	Synced()
	// Lost reports that the watch broke, before or after it was in sync, and why. The delivered state may be outdated. The
	// watch starts again automatically: it delivers every object with Enter, then Leave for those that disappeared, then
	// calls Synced.
	Lost(error)
}

// Watch delivers the vCenter's inventory and its changes to h, with one collector and one long poll, until ctx ends; it
// returns ctx's error. It waits for a connection, and starts again with back-off after a loss. It detects a hung vCenter
// within MaxWait + CallTimeout.
func (c *Client) Watch(ctx context.Context, spec WatchSpec, h Handler) error {
	w := &watch{client: c, spec: spec, handler: h, seen: map[types.ManagedObjectReference]int{}}
	failures := 0
	for {
		s, err := c.Wait(ctx)
		if err != nil {
			return err
		}
		w.synced = false
		err = w.run(ctx, s)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.cfg.Logger.Debug("watch lost", "err", err)
		h.Lost(err)
		// Run paces attempts to reconnect. Here only a watch that fails repeatedly on a working connection is slowed down.
		if failures++; w.synced || expired(err) || unreachable(err) && !errors.Is(err, context.DeadlineExceeded) {
			failures = 1
		}
		t := time.NewTimer(c.cfg.FaultRetry.pause(failures))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
}

// watch is the state of one [Client.Watch] over its rounds; a round is the lifetime of one collector.
type watch struct {
	client  *Client
	spec    WatchSpec
	handler Handler

	round  int
	synced bool
	seen   map[types.ManagedObjectReference]int // the round in which each object was last delivered
	events types.ManagedObjectReference         // this round's event collector; zero for none

	owner    *Session // the session of the leftovers
	leftover []func(context.Context) error
}

// run is one round on session s, from creating the collector to the error that ends it.
func (w *watch) run(parent context.Context, s *Session) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(errors.New("session ended")) })()
	w.round++
	w.destroyLeftovers(ctx, s)
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
		w.destroyLeftovers(context.WithoutCancel(parent), s)
	}
	return fmt.Errorf("vcenter %q: watch: %w", w.client.cfg.Name, err)
}

// collector creates a property collector with a filter over a container view. It makes three calls with separate timeouts,
// because a slow vCenter may need all of it for each.
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
	w.addLeftover(s, v.Destroy)
	err = w.call(ctx, s, func(ctx context.Context) (err error) {
		pc, err = property.DefaultCollector(s.Vim).Create(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	w.addLeftover(s, pc.Destroy)
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

// follow polls pc until an error: without waiting until every object has been delivered once, then with long polls.
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
			if err := w.pauseAfterEvents(ctx, set); err != nil {
				return err
			}
		}
		if !w.synced && !truncated {
			w.reportLeft()
			w.synced = true
			w.handler.Synced()
		}
	}
}

// poll is one WaitForUpdatesEx. It returns nil if nothing changes within maxWait.
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

// call runs one short call of the watch within the call timeout.
func (w *watch) call(ctx context.Context, s *Session, f func(context.Context) error) error {
	deadline := time.Now().Add(w.client.cfg.CallTimeout)
	return w.client.try(ctx, deadline, s, func(ctx context.Context, _ *Session) error { return f(ctx) })
}

// addLeftover records how to destroy an object that this watch has created on the server. Views and collectors live as long as
// their session, which outlives many rounds: without that they would pile up, and each costs the vCenter work at every
// change.
func (w *watch) addLeftover(s *Session, remove func(context.Context) error) {
	if w.owner != s {
		w.owner, w.leftover = s, nil
	}
	w.leftover = append(w.leftover, remove)
}

// destroyLeftovers destroys the noted objects, newest first, unless their session has ended. A round that lost its vCenter leaves that
// to the next one. It only logs errors, because the objects may be gone already.
func (w *watch) destroyLeftovers(ctx context.Context, s *Session) {
	remove := w.leftover
	w.leftover = nil
	if w.owner != s || s.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, min(w.client.cfg.CallTimeout, 5*time.Second))
	defer cancel()
	for _, r := range slices.Backward(remove) {
		if err := r(ctx); err != nil {
			w.client.cfg.Logger.Debug("watch leftover", "err", err)
		}
	}
}
