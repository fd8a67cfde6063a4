package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// Config is the configuration of an [Inventory].
type Config struct {
	VCenters []VCenterConfig
	// Categories are the names of the tag categories of region and zone. Unless both are set, no tags are read.
	Categories Categories
	// Networks are the names of the configured VM networks. They only serve to report those that no guest reports.
	Networks []string
	// Previous, if set, is an inventory that this one replaces. For vCenters with the same Client, New reuses its connection
	// and index, and if the categories are the same its tags. Run must be called before the other's Run ends: see
	// [Inventory.Running]. A connection that was made without categories stays without tag events.
	Previous *Inventory
	// TagRefresh is how often tags are read without a trigger. When zero: every 5 min if the vCenter's events report every
	// attached or detached tag, else every 60 s.
	TagRefresh time.Duration
	// TagMissInterval is the least time between two reads that are triggered by an event or a missed tag; 300 ms when zero.
	// It grows to 5 s while events change nothing.
	TagMissInterval time.Duration
	// ParityUpstream computes zones as upstream does, as far as upstream's result is deterministic: a tag farther up replaces
	// a nearer one while the other label is missing. See [Inventory.Zone]. It also reads guestinfo.metadata as upstream does.
	ParityUpstream bool
	// OnChange, if set, is called after the index has changed. It is called from the goroutines that update the index, one
	// for each vCenter, and must not block.
	OnChange func(Change)
	// Logger receives changes of state; discarded when nil.
	Logger *slog.Logger
}

// Categories are the names of two tag categories.
type Categories struct {
	Region, Zone string
}

func (c Categories) enabled() bool { return c.Region != "" && c.Zone != "" }

// VCenterConfig is one vCenter of an inventory.
type VCenterConfig struct {
	// Client is the vCenter's client. [Inventory.Run] runs it.
	Client *vcenter.Client
	// Datacenters limits the index to VMs below these datacenters, given by name, inventory path or reference
	// ("Datacenter:datacenter-3"); empty for all.
	Datacenters []string
}

// Inventory is the index. Create it with [New] and call [Inventory.Run] in a goroutine. All other methods are safe for
// concurrent use at any time, and do not block unless documented.
type Inventory struct {
	cfg     Config
	members []*member
	running chan struct{}
}

// New returns an inventory that has not started watching.
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

// Run connects to every vCenter and keeps the index current until ctx ends; then it logs out and returns nil. It leaves
// running what another inventory has taken over. It must be called once.
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

// Running is closed when Run has started: what was taken over from another inventory no longer needs that one's Run.
func (inv *Inventory) Running() <-chan struct{} { return inv.running }

// WaitSynced waits until every vCenter is in sync and its tags have been read. If ctx ends before, it returns an error that
// names the vCenters that are not.
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

// doubt joins the doubts of all vCenters.
func (inv *Inventory) doubt() error {
	var err error
	for _, m := range inv.members {
		err = errors.Join(err, m.doubt())
	}
	return err
}

// member returns the vCenter with the given name, or nil.
func (inv *Inventory) member(name string) *member {
	for _, m := range inv.members {
		if m.client.Name() == name {
			return m
		}
	}
	return nil
}

type (
	// UUID is a VM's BIOS UUID.
	UUID = match.UUID
	// Result is the outcome of a lookup.
	Result = match.Result[*VM]
)

// ByUUID finds VMs by BIOS UUID. It tries the swapped byte order only if no vCenter has the UUID as given.
func (inv *Inventory) ByUUID(u UUID) Result {
	var exact, swapped []*VM
	var doubt error
	other := u.Swapped()
	for _, m := range inv.members {
		if err := m.doubt(); err != nil {
			doubt = errors.Join(doubt, err)
			continue
		}
		exact = join(exact, m.filter(m.index.uuid(u)))
		if len(exact) == 0 {
			swapped = join(swapped, m.filter(m.index.uuid(other)))
		}
	}
	if len(exact) > 0 {
		return Result{VMs: exact, Doubt: doubt}
	}
	return Result{VMs: swapped, Doubt: doubt}
}

// ByHostName finds VMs by the hostname that the guest reports, in any case. A short name also matches a full name with that
// first label, and a full name matches the short one, but not a full name in another domain. If VMs have exactly the given
// name, only these are returned.
func (inv *Inventory) ByHostName(name string) Result {
	name = match.FoldHostName(name)
	if name == "" {
		return Result{}
	}
	var exact, others []*VM
	var doubt error
	for _, m := range inv.members {
		if err := m.doubt(); err != nil {
			doubt = errors.Join(doubt, err)
			continue
		}
		e, o := m.index.host(name)
		exact = join(exact, m.filter(e))
		if len(exact) == 0 {
			others = join(others, m.filter(o))
		}
	}
	if len(exact) == 0 {
		exact = others
	}
	return Result{VMs: exact, Doubt: doubt}
}

// ByIP finds VMs by an address that the guest reports on one of the VM's hardware adapters.
func (inv *Inventory) ByIP(ip netip.Addr) Result {
	ip = ip.Unmap().WithZone("")
	var r Result
	for _, m := range inv.members {
		if err := m.doubt(); err != nil {
			r.Doubt = errors.Join(r.Doubt, err)
			continue
		}
		r.VMs = join(r.VMs, m.filter(m.index.ip(ip)))
	}
	return r
}

// join returns both lists as one. It does not allocate if one is empty.
func join(a, b []*VM) []*VM {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	return slices.Concat(a, b)
}
