package vcenters

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/errgroup"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Tags keeps the region and zone tags of inventories current. Tags have no watch.
type Tags struct {
	VCenters   func() List
	Log        *event.Log
	Categories func() topology.Categories
	// Changed is called when the tags of a vCenter have changed.
	Changed func(*VCenter)
	Logger  *slog.Logger

	mu sync.Mutex
	at uint64 // the event up to which the tags are known
}

// Begin notes that the tags of all vCenters are about to be read for the first time.
func (t *Tags) Begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = t.Log.Last()
}

// Read asks a vCenter which objects have a region or zone tag. Tags have no watch.
func (t *Tags) Read(ctx context.Context, vc *VCenter) error {
	ctx, cancel := context.WithTimeout(ctx, vc.Patience())
	defer cancel()
	var all world.Tags
	err := vc.Client.DoREST(ctx, func(ctx context.Context, rc *rest.Client) (err error) {
		m := tags.NewManager(rc)
		c := t.Categories()
		if all.Region, err = attached(ctx, m, c.Region); err == nil {
			all.Zone, err = attached(ctx, m, c.Zone)
		}
		return err
	})
	if err != nil {
		return err
	}
	if vc.Inventory.SetTags(all) {
		t.Changed(vc)
	}
	return nil
}

// attached returns the name of the tag of a category that each object has. A category that does not exist has none.
func attached(ctx context.Context, m *tags.Manager, category string) (map[types.ManagedObjectReference]string, error) {
	of := map[types.ManagedObjectReference]string{}
	list, err := m.GetTagsForCategory(ctx, category)
	if err != nil {
		if cats, cerr := m.GetCategories(ctx); cerr == nil && !named(cats, category) {
			return of, nil
		}
		return nil, fmt.Errorf("tags of category %q: %w", category, err)
	}
	if len(list) == 0 {
		return of, nil
	}
	ids := make([]string, len(list))
	name := map[string]string{}
	for i, t := range list {
		ids[i], name[t.ID] = t.ID, t.Name
	}
	objects, err := m.ListAttachedObjectsOnTags(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("objects with tags of category %q: %w", category, err)
	}
	for _, a := range objects {
		for _, o := range a.ObjectIDs {
			of[o.Reference()] = name[a.TagID]
		}
	}
	return of, nil
}

func named(categories []tags.Category, name string) bool {
	return slices.ContainsFunc(categories, func(c tags.Category) bool { return c.Name == name })
}

// Refresh reads the tags of all vCenters; what cannot be read stays as it was.
func (t *Tags) Refresh(ctx context.Context) {
	var g errgroup.Group
	for _, vc := range t.VCenters() {
		g.Go(func() error { return t.Read(ctx, vc) })
	}
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		t.Logger.Warn("tags", "err", err)
	}
}

// Update reads the tags of the vCenters that have logged a change of tags since the tags were read last.
func (t *Tags) Update(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	events, lost := t.Log.Read(t.at, 0)
	if len(events) == 0 {
		return
	}
	for _, vc := range t.VCenters() {
		stale := lost > 0
		for _, e := range events {
			stale = stale || e.Object.VCenter == vc.Name() && strings.HasPrefix(e.Kind, "tag.")
		}
		if !stale {
			continue
		}
		if err := t.Read(ctx, vc); err != nil {
			if ctx.Err() == nil {
				t.Logger.Warn("tags", "vcenter", vc.Name(), "err", err)
			}
			return // and again the next time
		}
	}
	t.at = events[len(events)-1].Seq
}

// Follow reads the tags of a vCenter periodically until ctx ends, where the event log does not report their changes.
func (t *Tags) Follow(ctx context.Context, vc *VCenter) {
	period := vc.TagPeriod()
	if period == 0 {
		return
	}
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := t.Read(ctx, vc); err != nil && ctx.Err() == nil {
			t.Logger.Warn("tags", "vcenter", vc.Name(), "err", err)
		}
	}
}
