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

// WatchSpec says what to watch below the root folder.
type WatchSpec struct {
	// Properties are the property paths wanted of each managed object type ("VirtualMachine": {"name",
	// "runtime.powerState"}). A base type stands for its derived types; do not name both.
	Properties map[string][]string
	// Along names for a path others that are read with it when it has changed and they have not: a handler that does not
	// keep their last values needs them to make sense of the new one.
	Along map[string][]string
	// Events are the types of events ("com.vmware.cis.tagging.attach") that an [EventHandler] wants to hear of.
	Events []string
}

// Kind is what happened to an object.
type Kind string

// The kinds of [Update].
const (
	// Enter: the object is there. Changes hold everything that is known of it; whatever was known before is void.
	Enter Kind = "enter"
	// Modify: Changes hold the properties that changed.
	Modify Kind = "modify"
	// Leave: the object is no longer among those watched. Changes are empty.
	Leave Kind = "leave"
)

// Update is what became of one object.
type Update struct {
	Kind Kind
	Ref  types.ManagedObjectReference
	// Changes hold whole values under exactly the paths of the [WatchSpec], never parts of them, so that
	// mo.ApplyPropertyChange may be used; a nil Val means that the property is unset now.
	Changes []types.PropertyChange
	// Missing are the paths that the vCenter would not tell, for lack of permission for example.
	Missing []string
}

// Handler receives what a watch sees. All its methods are called from the goroutine that called [Client.Watch], one at
// a time, and should not block: updates wait meanwhile.
type Handler interface {
	// Update is given what changed since the call before, in the order the vCenter tells it.
	Update([]Update)
	// Synced says that every object has been told: from here until Lost, an object that was not told does not exist.
	Synced()
	// Lost says that the watch broke, before or after it was in sync, and why. What was told may no longer be true.
	// The watch begins again by itself: it tells every object anew with Enter, then Leave for those that went
	// meanwhile, then Synced.
	Lost(error)
}

// Watch tells h what the vCenter's inventory holds and how it changes, with one collector and one long poll, until ctx
// ends; it returns ctx's error. It waits for a connection, and after a loss begins anew with back-off. A hung vCenter
// is noticed within MaxWait + CallTimeout.
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
		// What breaks the connection is paced by Run; a watch that fails again and again on one that works is not.
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

// note remembers how to remove something that this watch has made on the server. Views and collectors live as long as
// their session, and a session outlives many rounds: unremoved, they would pile up and cost the vCenter work at every
// change.
func (w *watch) note(s *Session, remove func(context.Context) error) {
	if w.owner != s {
		w.owner, w.leftover = s, nil
	}
	w.leftover = append(w.leftover, remove)
}

// sweep removes what is noted, newest first, unless it went with an earlier session. A round that lost its vCenter
// leaves that to the next one. An error is not worth more than a line: the thing may be gone already.
func (w *watch) sweep(ctx context.Context, s *Session) {
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
