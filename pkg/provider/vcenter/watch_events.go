package vcenter

import (
	"context"
	"errors"
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
