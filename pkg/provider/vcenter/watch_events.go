package vcenter

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
)

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
