package vcenter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
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

var errNoEvents = errors.New("the vcenter has no event manager")

// eventPause is the pause before the next poll after one that returned only events. Otherwise a vCenter with thousands of
// events in a row would return a poll for each.
const eventPause = 250 * time.Millisecond

// EventHandler is a [Handler] that is notified when one of the events of [WatchSpec.Events] happened, but not which or how
// many.
type EventHandler interface {
	Handler
	// Following reports whether Happened will be called until Lost. Otherwise events are missed: the account may not read
	// them, or the vCenter has no free collector.
	Following(bool)
	// EventsOccurred reports that events happened, or may have been missed: it is called once at the beginning.
	EventsOccurred()
}

// followEvents adds the events to pc if the handler wants them. It returns only errors that end the round, because a
// vCenter may be too slow just at searching its events.
func (w *watch) followEvents(ctx context.Context, s *Session, pc *property.Collector) error {
	w.events = types.ManagedObjectReference{}
	h, wanted := w.handler.(EventHandler)
	if !wanted || len(w.spec.Events) == 0 {
		return nil
	}
	var collector types.ManagedObjectReference
	err := w.call(ctx, s, func(ctx context.Context) (err error) {
		collector, err = w.eventCollector(ctx, s, pc)
		return err
	})
	switch {
	case err == nil:
		w.events = collector
	case expired(err) || unreachable(err) && !errors.Is(err, context.DeadlineExceeded):
		return err
	default:
		w.client.cfg.Logger.Debug("events cannot be followed", "err", err)
	}
	h.Following(err == nil)
	return nil
}

// eventCollector creates a history collector that shows the latest event, and adds it to pc.
func (w *watch) eventCollector(ctx context.Context, s *Session, pc *property.Collector) (ref types.ManagedObjectReference, err error) {
	manager := s.Vim.ServiceContent.EventManager
	if manager == nil {
		return ref, errNoEvents
	}
	made, err := methods.CreateCollectorForEvents(ctx, s.Vim, &types.CreateCollectorForEvents{
		This: *manager,
		Filter: types.EventFilterSpec{
			EventTypeId:        w.spec.Events,
			DisableFullMessage: new(true),
		},
	})
	if err != nil {
		return ref, err
	}
	ref = made.Returnval
	w.addLeftover(s, func(ctx context.Context) error {
		_, err := methods.DestroyCollector(ctx, s.Vim, &types.DestroyCollector{This: ref})
		return err
	})
	if _, err := methods.SetCollectorPageSize(ctx, s.Vim, &types.SetCollectorPageSize{This: ref, MaxCount: 1}); err != nil {
		return ref, err
	}
	_, err = pc.CreateFilter(ctx, types.CreateFilter{Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: ref}},
		PropSet:   []types.PropertySpec{{Type: ref.Type, PathSet: []string{"latestPage"}}},
	}})
	return ref, err
}

// happened reports an update of the event collector to the handler.
func (w *watch) happened(o types.ObjectUpdate) {
	h, ok := w.handler.(EventHandler)
	switch {
	case !ok:
	case Kind(o.Kind) == Leave || len(o.MissingSet) > 0:
		h.Following(false)
	default:
		h.EventsOccurred()
	}
}

// pauseAfterEvents pauses before the next poll if the last one returned only events.
func (w *watch) pauseAfterEvents(ctx context.Context, set *types.UpdateSet) error {
	if w.events.Value == "" {
		return nil
	}
	for _, fs := range set.FilterSet {
		for _, o := range fs.ObjectSet {
			if o.Obj != w.events {
				return nil
			}
		}
	}
	return backoff.Sleep(ctx, eventPause)
}

// deliver converts an update set to Updates and passes them to the handler.
func (w *watch) deliver(ctx context.Context, s *Session, pc *property.Collector, set *types.UpdateSet) error {
	var batch []Update
	for _, fs := range set.FilterSet {
		for _, o := range fs.ObjectSet {
			if o.Obj == w.events {
				w.happened(o)
				continue
			}
			u := Update{Kind: Kind(o.Kind), Ref: o.Obj}
			for _, m := range o.MissingSet {
				u.Missing = append(u.Missing, m.Path)
			}
			if u.Kind == Leave {
				delete(w.seen, u.Ref)
			} else {
				w.seen[u.Ref] = w.round
				u.Changes = o.ChangeSet
			}
			batch = append(batch, u)
		}
	}
	if err := w.complete(ctx, s, pc, batch); err != nil {
		return err
	}
	if len(batch) > 0 {
		w.handler.Update(batch)
	}
	return nil
}

// complete replaces changes of parts of a property, which a vCenter may report as `guest.net[4000].ipAddress`, by the
// property's whole value, which it reads again. It makes every removal a nil value.
func (w *watch) complete(ctx context.Context, s *Session, pc *property.Collector, batch []Update) error {
	for i := range batch {
		u := &batch[i]
		var reread []string
		u.Changes = slices.DeleteFunc(u.Changes, func(c types.PropertyChange) bool {
			paths, exact := w.affectedPaths(c.Name)
			if !exact {
				reread = append(reread, paths...)
			}
			return !exact
		})
		for j := range u.Changes {
			if op := u.Changes[j].Op; op == types.PropertyChangeOpRemove || op == types.PropertyChangeOpIndirectRemove {
				u.Changes[j].Val = nil
			}
		}
		if u.Kind == Modify {
			reread = append(reread, w.along(u.Changes)...)
		}
		if len(reread) == 0 {
			continue
		}
		slices.Sort(reread)
		if err := w.read(ctx, s, pc, u, slices.Compact(reread)); err != nil && !Gone(err) { // if gone, Leave follows
			return err
		}
	}
	return nil
}

// along returns the paths that must be read with changes and are not among them.
func (w *watch) along(changes []types.PropertyChange) (paths []string) {
	for _, c := range changes {
		for _, path := range w.spec.Related[c.Name] {
			if !slices.ContainsFunc(changes, func(c types.PropertyChange) bool { return c.Name == path }) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

func (w *watch) read(ctx context.Context, s *Session, pc *property.Collector, u *Update, paths []string) error {
	var content []types.ObjectContent
	err := w.call(ctx, s, func(ctx context.Context) error {
		return pc.Retrieve(ctx, []types.ManagedObjectReference{u.Ref}, paths, &content)
	})
	if err == nil {
		u.take(paths, content)
	}
	return err
}

// take adds the values at the given paths of one object: nil for an unset property, Missing for one that the vCenter did
// not return.
func (u *Update) take(paths []string, content []types.ObjectContent) {
	if len(content) == 0 {
		u.Missing = append(u.Missing, paths...)
		return
	}
	for _, path := range paths {
		if slices.ContainsFunc(content[0].MissingSet, func(m types.MissingProperty) bool { return m.Path == path && !isInvalidPath(m) }) {
			u.Missing = append(u.Missing, path)
			continue
		}
		c := types.PropertyChange{Name: path, Op: types.PropertyChangeOpAssign}
		for _, p := range content[0].PropSet {
			if p.Name == path {
				c.Val = p.Val
			}
		}
		u.Changes = append(u.Changes, c)
	}
}

// isInvalidPath reports whether a path does not exist, such as that of an option that is not set.
func isInvalidPath(m types.MissingProperty) bool {
	_, ok := m.Fault.Fault.(*types.InvalidProperty)
	return ok
}

// affectedPaths returns the spec's paths that a change of the named property affects, and whether it is exactly one of them.
func (w *watch) affectedPaths(name string) (paths []string, exact bool) {
	for _, ps := range w.spec.Properties {
		for _, p := range ps {
			if p == name {
				return []string{p}, true
			}
			if below(name, p) || below(p, name) {
				paths = append(paths, p)
			}
		}
	}
	return paths, false
}

// below reports whether path is below parent: "a.b" and "a[1].b" are below "a".
func below(path, parent string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '[')
}

// reportLeft delivers Leave for the objects of earlier rounds that were not delivered in this one.
func (w *watch) reportLeft() {
	var batch []Update
	for ref, round := range w.seen {
		if round != w.round {
			delete(w.seen, ref)
			batch = append(batch, Update{Kind: Leave, Ref: ref})
		}
	}
	if len(batch) > 0 {
		w.handler.Update(batch)
	}
}
