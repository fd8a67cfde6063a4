package vcenters

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/background"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// Watch keeps the inventories current. All fields are mandatory.
type Watch struct {
	Log        *event.Log
	Tags       *Tags
	Background *background.Groups
	// Changed is called when the watch of a vCenter is complete, or lost.
	Changed func(vcenter string)
	// FollowLog and FollowCalls run as long as the watch.
	FollowLog   func(context.Context)
	FollowCalls func(context.Context, *VCenter)
}

// watchGroup is the background group of the watch.
const watchGroup = "inventory watch"

// Start returns when all inventories are complete.
func (w *Watch) Start(ctx context.Context, list List) error {
	w.Tags.Begin()
	w.Background.Run(watchGroup, w.FollowLog)
	g, ctx := errgroup.WithContext(ctx)
	for _, vc := range list {
		synced := make(chan struct{})
		w.Background.Run(watchGroup, func(ctx context.Context) { _ = vc.Client.Run(ctx) }) // returns nil
		w.Background.Run(watchGroup, func(ctx context.Context) {
			_ = vc.Client.Watch(ctx, world.Spec(), &handler{Inventory: vc.Inventory, w: w, first: synced, chosen: vc.Chosen}) // ends with ctx
		})
		w.Background.Run(watchGroup, func(ctx context.Context) { w.FollowCalls(ctx, vc) })
		w.Background.Run(watchGroup, func(ctx context.Context) { w.Tags.Follow(ctx, vc) })
		g.Go(func() error {
			select {
			case <-synced:
				return w.Tags.Read(ctx, vc)
			case <-ctx.Done():
				err := context.Cause(ctx)
				if last := vc.Client.State().Err; last != nil { // else it is connected, and slow
					err = fmt.Errorf("%w: %w", err, last)
				}
				return fmt.Errorf("vcenter %q: %w", vc.Name(), err)
			}
		})
	}
	return g.Wait()
}

// Stop ends the watch.
func (w *Watch) Stop(ctx context.Context) error { return w.Background.End(ctx, watchGroup) }

// handler reports when an inventory is complete for the first time, and when its watch is lost.
type handler struct {
	*world.Inventory
	w      *Watch
	first  chan struct{}
	lost   bool
	chosen func([]vcenter.Update) []vcenter.Update // nil for all
}

func (h *handler) Update(updates []vcenter.Update) {
	if h.chosen != nil {
		updates = h.chosen(updates)
	}
	h.Inventory.Update(updates)
}

func (h *handler) Synced() {
	h.Inventory.Synced()
	if h.first != nil {
		close(h.first)
		h.first = nil
	}
	if h.lost {
		h.lost = false
		h.w.Log.Append(event.Event{
			Plane: event.PlaneSandbox, Kind: "inventory.synced",
			Object: event.Object{Kind: "VCenter", Name: h.VCenter}, Message: "inventory is current again",
		})
	}
	h.w.Changed(h.VCenter)
}

func (h *handler) Lost(err error) {
	h.Inventory.Lost(err)
	h.lost = true
	h.w.Log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: event.Warning, Kind: "inventory.lost",
		Object: event.Object{Kind: "VCenter", Name: h.VCenter}, Message: err.Error(),
	})
	h.w.Changed(h.VCenter)
}
