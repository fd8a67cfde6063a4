package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// Config says which vCenters are indexed and how.
type Config struct {
	VCenters []VCenterConfig
	// Categories are the names of the tag categories of region and zone; without both no tags are read.
	Categories Categories
	// Previous, when set, is an inventory that this one is to replace. Of the vCenters with the same Client it takes over
	// connection, index and, when the categories are the same, tags, as they are. Its Run has to begin before the other's
	// ends: see [Inventory.Running]. A connection that was made without categories goes on without events of tags.
	Previous *Inventory
	// TagRefresh is how often tags are read when nothing asks for it; when zero, every 5 min where the vCenter's events
	// tell of every tag that is attached or detached, every 60 s where they do not.
	TagRefresh time.Duration
	// TagMissInterval is the least time between two readings that are made early, because of an event or because a tag was
	// missed; 300 ms when zero. It grows, to 5 s, while events go on and on that change nothing.
	TagMissInterval time.Duration
	// ParityUpstream makes zones as upstream does where that is no matter of luck: a tag farther up replaces one nearer by
	// as long as the other label is missing. See [Inventory.Zone]. It also has guestinfo.metadata read as upstream does.
	ParityUpstream bool
	// OnChange, when set, is told what changed in the index, after it has changed. It is called from the goroutines that
	// keep the index, one for each vCenter, and must not block.
	OnChange func(Change)
	// Logger receives changes of state; none when nil.
	Logger *slog.Logger
}

// Categories are the names of two tag categories.
type Categories struct {
	Region, Zone string
}

func (c Categories) enabled() bool { return c.Region != "" && c.Zone != "" }

// VCenterConfig is one vCenter of an inventory.
type VCenterConfig struct {
	// Client is run by [Inventory.Run].
	Client *vcenter.Client
	// Datacenters limits the index to VMs below datacenters of these names, inventory paths or references
	// ("Datacenter:datacenter-3"); empty for all.
	Datacenters []string
}

// Inventory is the index. Make one with [New] and give it a goroutine with [Inventory.Run]; all other methods may be
// called from any goroutine at any time, and do not wait unless they say so.
type Inventory struct {
	cfg     Config
	members []*member
	running chan struct{}
}

// New returns an inventory that has not begun to watch.
func New(cfg Config) (*Inventory, error) {
	if len(cfg.VCenters) == 0 {
		return nil, errors.New("inventory: no vcenter")
	}
	cfg.TagMissInterval = cmp.Or(cfg.TagMissInterval, 300*time.Millisecond)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	inv := &Inventory{cfg: cfg, running: make(chan struct{})}
	for _, vc := range cfg.VCenters {
		inv.members = append(inv.members, newMember(vc, cfg))
	}
	inv.cfg.Previous = nil
	return inv, nil
}

// Run connects to every vCenter and keeps the index current until ctx ends; then it logs out and returns nil. What
// another inventory has taken over meanwhile goes on. It is called once.
func (inv *Inventory) Run(ctx context.Context) error {
	var ends []func() error
	end := func() error {
		errs := make([]error, len(ends))
		var wg sync.WaitGroup
		for i, end := range ends {
			wg.Go(func() { errs[i] = end() })
		}
		wg.Wait()
		return errors.Join(errs...)
	}
	for _, m := range inv.members {
		release, err := m.hold(ctx)
		if err != nil {
			return errors.Join(fmt.Errorf("vcenter %q: %w", m.client.Name(), err), end())
		}
		ends = append(ends, release)
	}
	close(inv.running)
	<-ctx.Done()
	return end()
}

// Running is closed when Run has begun: what is taken over from another inventory no longer needs that one's Run.
func (inv *Inventory) Running() <-chan struct{} { return inv.running }

// WaitSynced waits until every vCenter is in sync and its tags have been read, or returns an error that names those
// that are not when ctx ends.
func (inv *Inventory) WaitSynced(ctx context.Context) error {
	for _, m := range inv.members {
		for {
			synced, changed := m.syncState()
			if synced {
				break
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return errors.Join(ctx.Err(), inv.doubt())
			}
		}
		if err := m.tags.wait(ctx); err != nil {
			return errors.Join(err, inv.doubt())
		}
	}
	return nil
}

// doubt returns what every vCenter that is not in sync says.
func (inv *Inventory) doubt() error {
	var err error
	for _, m := range inv.members {
		err = errors.Join(err, m.doubt())
	}
	return err
}

// member returns the vCenter of the given name.
func (inv *Inventory) member(name string) *member {
	for _, m := range inv.members {
		if m.client.Name() == name {
			return m
		}
	}
	return nil
}
