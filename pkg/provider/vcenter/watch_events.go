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

var errNoEvents = errors.New("there is no event manager")

// eventPause is how long the next poll waits after one that told of events alone. A vCenter where thousands of them
// happen in a row would answer a poll for each.
const eventPause = 250 * time.Millisecond

// EventHandler is a [Handler] that wants to know when one of the events of [WatchSpec.Events] happened. Which and how
// many is not told: it looks for itself.
type EventHandler interface {
	Handler
	// Following says whether Happened will be called from here on, until Lost. Without it events go by unseen: the account
	// may not see them, or the vCenter has no collector to spare.
	Following(bool)
	// Happened says that events happened, or may have while nobody was looking: it is called once at the beginning.
	Happened()
}

// followEvents adds the events to what pc tells, if anybody wants them. Only an error that ends the round is returned: a
// vCenter may be too slow at searching its events, and at nothing else.
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

// eventCollector makes a history collector that shows one event, the latest, and has pc watch it.
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
	w.note(s, func(ctx context.Context) error {
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

// happened tells the handler of an update of the event collector.
func (w *watch) happened(o types.ObjectUpdate) {
	h, ok := w.handler.(EventHandler)
	switch {
	case !ok:
	case Kind(o.Kind) == Leave || len(o.MissingSet) > 0:
		h.Following(false)
	default:
		h.Happened()
	}
}

// rest pauses before the next poll when the last one told of nothing but events.
func (w *watch) rest(ctx context.Context, set *types.UpdateSet) error {
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

// deliver hands an update set to the handler in the form that [Update] promises.
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

// complete replaces changes of parts of a property, which a vCenter may tell as `guest.net[4000].ipAddress`, by the
// property's whole value, read anew, and makes every removal a nil value.
func (w *watch) complete(ctx context.Context, s *Session, pc *property.Collector, batch []Update) error {
	for i := range batch {
		u := &batch[i]
		var reread []string
		u.Changes = slices.DeleteFunc(u.Changes, func(c types.PropertyChange) bool {
			paths, exact := w.whole(c.Name)
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
		if err := w.read(ctx, s, pc, u, slices.Compact(reread)); err != nil && !Gone(err) { // when gone, its Leave is on the way
			return err
		}
	}
	return nil
}

// along returns the paths to be read with changes that do not bring them.
func (w *watch) along(changes []types.PropertyChange) (paths []string) {
	for _, c := range changes {
		for _, path := range w.spec.Along[c.Name] {
			if !slices.ContainsFunc(changes, func(c types.PropertyChange) bool { return c.Name == path }) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// read adds properties of one object to its update.
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

// take adds what was read at the given paths of one object: a nil value stands for one that is unset, one that the
// vCenter would not tell is missing.
func (u *Update) take(paths []string, content []types.ObjectContent) {
	if len(content) == 0 {
		u.Missing = append(u.Missing, paths...)
		return
	}
	for _, path := range paths {
		if slices.ContainsFunc(content[0].MissingSet, func(m types.MissingProperty) bool { return m.Path == path && !invalid(m) }) {
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

// invalid reports whether a path leads nowhere, as that of an option that is not set does.
func invalid(m types.MissingProperty) bool {
	_, ok := m.Fault.Fault.(*types.InvalidProperty)
	return ok
}

// whole returns the spec's paths that a change of the named property touches, and whether it is exactly one of them.
func (w *watch) whole(name string) (paths []string, exact bool) {
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

// below reports whether path lies below parent: "a.b" and "a[1].b" lie below "a".
func below(path, parent string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '[')
}

// forget tells the objects that were there before this round and were not told in it.
func (w *watch) forget() {
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
