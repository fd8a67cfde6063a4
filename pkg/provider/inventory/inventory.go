package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// Config says which vCenters are indexed and how.
type Config struct {
	VCenters []VCenterConfig
	// Categories are the names of the tag categories of region and zone; without both no tags are read.
	Categories Categories
	// TagRefresh is how often tags are read; 60 s when zero.
	TagRefresh time.Duration
	// TagMissInterval is the least time between two readings that are made early because a tag was missed;
	// 1 s when zero.
	TagMissInterval time.Duration
	// OnChange, when set, is told what changed in the index, after it has changed. It is called from the goroutines that
	// keep the index, one for each vCenter, and must not block.
	OnChange func(Change)
	// Logger receives changes of state; none when nil.
	Logger *slog.Logger
}

// Change says what happened to the index of one vCenter.
type Change struct {
	// VCenter is its name.
	VCenter string
	// VMs are those of which something changed, as they are now, and Left those that are no longer there, as they were.
	VMs, Left []*VM
	// Everything says that VMs may answer differently that are not named: tags were read anew and differ, an object above
	// VMs changed, the index came into sync or lost it.
	Everything bool
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
}

// New returns an inventory that has not begun to watch.
func New(cfg Config) (*Inventory, error) {
	if len(cfg.VCenters) == 0 {
		return nil, errors.New("inventory: no vcenter")
	}
	cfg.TagRefresh = cmp.Or(cfg.TagRefresh, time.Minute)
	cfg.TagMissInterval = cmp.Or(cfg.TagMissInterval, time.Second)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	inv := &Inventory{cfg: cfg}
	for _, vc := range cfg.VCenters {
		log := cfg.Logger.With("vcenter", vc.Client.Name())
		inv.members = append(inv.members, &member{
			client:      vc.Client,
			datacenters: vc.Datacenters,
			index:       newIndex(),
			tags:        newTagIndex(vc.Client, cfg, log),
			log:         log,
			changed:     make(chan struct{}),
		})
	}
	return inv, nil
}

// Run connects to every vCenter and keeps the index current until ctx ends; then it logs out and returns nil. It is
// called once.
func (inv *Inventory) Run(ctx context.Context) error {
	// The connections end last, so that watches and tag readings end on a live session.
	connCtx, disconnect := context.WithCancel(context.WithoutCancel(ctx))
	defer disconnect()
	var conns, work errgroup.Group
	for _, m := range inv.members {
		conns.Go(func() error { return m.client.Run(connCtx) })
		work.Go(func() error { return m.client.Watch(ctx, watched(), feed{m}) })
		work.Go(func() error { return m.tags.run(ctx) })
	}
	err := work.Wait()
	disconnect()
	if errors.Is(err, ctx.Err()) {
		err = nil
	}
	return errors.Join(err, conns.Wait())
}

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
			return err
		}
	}
	return nil
}

// Result is the answer to a lookup.
type Result struct {
	// VMs are those found on vCenters that are in sync. It must not be changed.
	VMs []*VM
	// Doubt says which vCenters could not be asked, and why; nil when all could.
	Doubt error
}

// One returns the only VM of the result. Without one the error is [ErrNotFound], joined with the doubt there is; with
// several it names them and wraps [ErrAmbiguous].
func (r Result) One() (*VM, error) {
	switch {
	case len(r.VMs) == 1:
		return r.VMs[0], nil
	case len(r.VMs) > 1:
		return nil, fmt.Errorf("%w: %v", ErrAmbiguous, r.VMs)
	case r.Doubt != nil:
		return nil, fmt.Errorf("%w, but not every vcenter could be asked: %w", ErrNotFound, r.Doubt)
	}
	return nil, ErrNotFound
}

var (
	// ErrNotFound says that the index holds no such VM. It is no proof that there is none: see
	// [Inventory.ConfirmAbsent].
	ErrNotFound = errors.New("vm not found")
	// ErrAmbiguous says that several VMs answer to the same name, address or UUID.
	ErrAmbiguous = errors.New("several vms match")
)

// ByUUID finds VMs by BIOS UUID: as given, or when no vCenter has one of those, with the byte order swapped.
func (inv *Inventory) ByUUID(u UUID) Result {
	exact := inv.lookup(func(x *index) []*VM { return x.uuid(u) })
	if len(exact.VMs) > 0 {
		return exact
	}
	r := inv.lookup(func(x *index) []*VM { return x.uuid(u.Swapped()) })
	if r.Doubt == nil {
		r.Doubt = exact.Doubt
	}
	return r
}

// ByHostName finds VMs by the hostname that the guest reports, whatever its case. A short name finds a guest that
// reports a full one and the other way round; VMs with exactly the given name come before those.
func (inv *Inventory) ByHostName(name string) Result {
	name = foldHost(name)
	if name == "" {
		return Result{}
	}
	r := inv.lookup(func(x *index) []*VM { return x.host(name) })
	if exact := slices.DeleteFunc(slices.Clone(r.VMs), func(vm *VM) bool { return foldHost(vm.HostName) != name }); len(exact) > 0 {
		r.VMs = exact
		return r
	}
	if len(r.VMs) == 0 {
		if short := firstLabel(name); short != name {
			// Only a guest that reports the short name alone: one in another domain is somebody else.
			r = inv.lookup(func(x *index) []*VM { return x.host(short) })
			r.VMs = slices.DeleteFunc(slices.Clone(r.VMs), func(vm *VM) bool { return foldHost(vm.HostName) != short })
		}
	}
	return r
}

// ByIP finds VMs by an address that the guest reports on one of the VM's own adapters.
func (inv *Inventory) ByIP(ip netip.Addr) Result {
	ip = ip.Unmap().WithZone("")
	return inv.lookup(func(x *index) []*VM { return x.ip(ip) })
}

// lookup asks every vCenter that is in sync.
func (inv *Inventory) lookup(f func(*index) []*VM) Result {
	var r Result
	for _, m := range inv.members {
		if err := m.doubt(); err != nil {
			r.Doubt = errors.Join(r.Doubt, err)
			continue
		}
		vms := m.filter(f(m.index))
		if r.VMs == nil {
			r.VMs = vms
		} else if len(vms) > 0 {
			r.VMs = append(slices.Clone(r.VMs), vms...)
		}
	}
	return r
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
