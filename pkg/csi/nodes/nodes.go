package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// Nodes implements [volume.Nodes]. Create it with [New] and call [Nodes.Run] in a goroutine; all other methods are safe for
// concurrent use at any time.
type Nodes struct {
	cfg Config

	members atomic.Pointer[[]*member]
	reset   chan struct{} // members were replaced
	version atomic.Uint64 // incremented when nodes may have moved
	wake    chan struct{} // the version has changed

	nodeIDs idSpelling

	moved notify.Listeners[[]string] // nodes whose segment has changed
	any   notify.Listeners[struct{}] // the version has changed

	mu     sync.Mutex
	latest *layout // nil before first use
}

var _ volume.Nodes = (*Nodes)(nil)

// New returns a Nodes that has not started watching.
func New(cfg Config) (*Nodes, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.TagPause = cmp.Or(cfg.TagPause, tagsPause)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	n := &Nodes{cfg: cfg, reset: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
	n.members.Store(new([]*member))
	n.replace(cfg.VCenters, cfg.Categories)
	return n, nil
}

// Set replaces vCenters and categories without blocking. The inventory of a vCenter with the same client, datacenters and
// categories is kept. On an error nothing changes.
func (n *Nodes) Set(vcenters []VCenter, categories []Category) error {
	if err := check(vcenters, categories); err != nil {
		return err
	}
	n.replace(vcenters, categories)
	return nil
}

func (n *Nodes) replace(vcenters []VCenter, categories []Category) {
	n.mu.Lock()
	old := *n.members.Load()
	var members []*member
	for _, vc := range vcenters {
		i := slices.IndexFunc(old, func(m *member) bool {
			return m.client == vc.Client && slices.Equal(m.datacenters, vc.Datacenters) && slices.Equal(m.categories, categories)
		})
		if i >= 0 {
			members = append(members, old[i])
			continue
		}
		members = append(members, newMember(&n.cfg, vc, categories, n.changed))
	}
	n.members.Store(&members)
	n.mu.Unlock()
	notify.Wake(n.reset)
	n.changed()
}

// changed records that nodes may have moved.
func (n *Nodes) changed() {
	n.version.Add(1)
	notify.Wake(n.wake)
	n.any.Notify(struct{}{})
}

// Run keeps the inventories current until ctx ends, and returns nil. It must be called once, and the vCenters' clients must run
// at the same time.
func (n *Nodes) Run(ctx context.Context) error {
	defer n.cfg.Cluster.Listen(n.changed)()
	n.changed()
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	all.Go(func() { n.observe(ctx) })
	stops := map[*member]context.CancelFunc{}
	for {
		members := *n.members.Load()
		for _, m := range members {
			if stops[m] == nil {
				memberCtx, stop := context.WithCancel(ctx)
				stops[m] = stop
				all.Go(func() { m.run(memberCtx) })
			}
		}
		for m, stop := range stops {
			if !slices.Contains(members, m) {
				stop()
				delete(stops, m)
			}
		}
		select {
		case <-n.reset:
		case <-ctx.Done():
			return nil
		}
	}
}

// complete returns what is not known yet.
func (n *Nodes) complete() error {
	var errs []error
	if _, known := n.cfg.Cluster.Nodes(); !known {
		errs = append(errs, errNodesUnknown)
	}
	for _, m := range *n.members.Load() {
		if err := m.doubt(); err != nil {
			errs = append(errs, err)
		} else if s := m.tags.state.Load(); len(m.categories) > 0 && !s.read {
			errs = append(errs, errors.Join(fmt.Errorf("vcenter %q: tags not read yet", m.name()), s.err))
		}
	}
	return errors.Join(errs...)
}

var errNodesUnknown = errors.New("the cluster's nodes are not known yet")

func (n *Nodes) member(name string) (*member, error) {
	for _, m := range *n.members.Load() {
		if m.name() == name {
			return m, nil
		}
	}
	return nil, fmt.Errorf("vcenter %q is not configured", name)
}

// WaitSynced waits until the nodes are known and each vCenter's inventory is complete with its tags read. If ctx ends before, it
// returns what is missing. It also waits while tags cannot be read.
func (n *Nodes) WaitSynced(ctx context.Context) error {
	woken := make(chan struct{}, 1)
	defer n.any.Listen(func(struct{}) { notify.Wake(woken) })()
	for {
		err := n.complete()
		if err == nil {
			return nil
		}
		select {
		case <-woken:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// feed writes a watch into the inventory of its vCenter.
type feed struct{ *member }

var _ vcenter.EventHandler = feed{}

// Update implements [vcenter.Handler].
func (f feed) Update(batch []vcenter.Update) {
	moved, reach := f.inventory.apply(batch)
	if moved && f.inSync() {
		f.changed()
	}
	if reach && f.reach != nil {
		f.reach()
	}
}

// Synced implements [vcenter.Handler].
func (f feed) Synced() {
	f.setSync(true, nil)
	f.changed()
}

// Lost implements [vcenter.Handler].
func (f feed) Lost(err error) {
	f.tags.follow(false)
	if f.setSync(false, err) {
		f.changed()
	}
}

// Following implements [vcenter.EventHandler].
func (f feed) Following(ok bool) { f.tags.follow(ok) }

// EventsOccurred implements [vcenter.EventHandler].
func (f feed) EventsOccurred() { f.tags.event() }

var errNotSynced = errors.New("inventory not in sync")

// member is one vCenter with its inventory and its tags.
type member struct {
	client      *vcenter.Client
	datacenters []string // as configured; empty for all
	categories  []Category
	log         *slog.Logger
	inventory   *inventory
	tags        *tagIndex
	policies    policies
	changed     func() // called when nodes may have moved; must not block
	reach       func() // is Config.OnReach

	mu     sync.Mutex
	synced bool
	lost   error
}

func newMember(cfg *Config, vc VCenter, categories []Category, changed func()) *member {
	log := cfg.Logger.With("vcenter", vc.Client.Name())
	return &member{
		client: vc.Client, datacenters: vc.Datacenters, categories: categories, log: log,
		inventory: newInventory(), tags: newTagIndex(cfg, vc.Client, categories, log, changed), changed: changed, reach: cfg.OnReach,
	}
}

func (m *member) name() string { return m.client.Name() }

// run keeps inventory and tags current until ctx ends.
func (m *member) run(ctx context.Context) {
	var tags sync.WaitGroup
	tags.Go(func() { m.tags.run(ctx) })
	_ = m.client.Watch(ctx, watchSpec(len(m.categories) > 0), feed{m}) // always ctx's error
	tags.Wait()
}

// setSync reports whether the state has changed.
func (m *member) setSync(synced bool, err error) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if synced == m.synced {
		m.lost = err
		return false
	}
	if synced {
		m.log.Info("vcenter inventory", "synced", true)
	} else {
		m.log.Warn("vcenter inventory", "synced", false, "err", err)
	}
	m.synced, m.lost = synced, err
	return true
}

func (m *member) inSync() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.synced
}

// doubt returns why the inventory cannot be relied on at the moment, or nil.
func (m *member) doubt() error {
	if _, err := m.client.Session(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.synced:
		return nil
	case m.lost != nil:
		return fmt.Errorf("%w: %w", errNotSynced, m.lost)
	}
	return fmt.Errorf("vcenter %q: %w yet", m.name(), errNotSynced)
}

// Config is the configuration of a [Nodes].
type Config struct {
	// Cluster lists the nodes. Mandatory.
	Cluster Cluster
	// VCenters and Categories are the arguments of [Nodes.Set].
	VCenters   []VCenter
	Categories []Category

	// TagRefresh is how often tags are read without a trigger. When zero: every 5 min if the vCenter's events report every
	// attached or detached tag, else every 60 s.
	TagRefresh time.Duration
	// TagPause is the least time between two reads of tags; 300 ms when zero.
	TagPause time.Duration
	// OnReach, if set, is called when a datastore has come into the reach of a host, or no host reaches it any more. It must not block.
	OnReach func()
	// Logger receives changes of state; discarded when nil.
	Logger *slog.Logger
}

// VCenter is one vCenter with nodes.
type VCenter struct {
	// Client is the vCenter's client. The caller runs it, for longer than [Nodes.Run].
	Client *vcenter.Client
	// Datacenters limits the nodes to VMs below these datacenters, given by name, inventory path or reference
	// ("Datacenter:datacenter-3"); empty for all.
	Datacenters []string
}

// Category is a tag category that is part of the topology.
type Category struct {
	Name string
	// Key is its topology key; names.TopologyPrefix and Name when empty.
	Key string
}

func (c Category) key() string { return cmp.Or(c.Key, names.TopologyPrefix+c.Name) }

func (c Config) check() error {
	if c.Cluster == nil {
		return errors.New("nodes: no cluster")
	}
	return check(c.VCenters, c.Categories)
}

func check(vcenters []VCenter, categories []Category) error {
	var errs []error
	if len(vcenters) == 0 {
		errs = append(errs, errors.New("no vcenter"))
	}
	seen := map[string]bool{}
	for _, vc := range vcenters {
		if vc.Client == nil {
			errs = append(errs, errors.New("vcenter without a client"))
			continue
		}
		if seen[vc.Client.Name()] {
			errs = append(errs, fmt.Errorf("vcenter %q is listed twice", vc.Client.Name()))
		}
		seen[vc.Client.Name()] = true
	}
	keys := map[string]bool{}
	for _, c := range categories {
		switch {
		case c.Name == "":
			errs = append(errs, errors.New("category without a name"))
		case keys[c.key()]:
			errs = append(errs, fmt.Errorf("topology key %q is used twice", c.key()))
		}
		keys[c.key()] = true
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	return nil
}
