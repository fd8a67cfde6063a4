package inventory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/absent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// ErrNotSynced reports that a vCenter's inventory is not complete and current.
var ErrNotSynced = errors.New("inventory not in sync")

// member is one vCenter of an inventory: a source, and the selection of its datacenters.
type member struct {
	*source
	datacenters []string // as configured; empty for all
	networks    []string // names of the configured VM networks
	inScope     atomic.Pointer[datacenterSet]
	tags        *tagIndex
	onChange    func(Change) // may be nil
}

// newMember returns a member, with the source and the tags of the previous inventory if they can be reused.
func newMember(vc VCenterConfig, cfg Config) *member {
	m := &member{datacenters: vc.Datacenters, networks: cfg.Networks, onChange: cfg.OnChange}
	var seen []*index // of other connections to the same server
	if cfg.Previous != nil {
		for _, old := range cfg.Previous.members {
			if old.client != vc.Client {
				if old.client.Server() == vc.Client.Server() {
					seen = append(seen, old.index)
				}
				continue
			}
			m.source = old.source
			if old.tags.cfg.Categories == cfg.Categories {
				m.tags = old.tags
			}
		}
	}
	if m.source == nil {
		m.source = newSource(vc.Client, cfg)
		for _, x := range seen {
			m.index.remember(x)
		}
	}
	if m.tags == nil {
		m.tags = newTagIndex(m.source, cfg)
	}
	return m
}

// hold keeps the member current until release is called.
func (m *member) hold(ctx context.Context) (release func() error, err error) {
	deaf := m.listen()
	if err := m.running.hold(ctx); err != nil {
		deaf()
		return nil, err
	}
	if err := m.tags.running.hold(ctx); err != nil {
		deaf()
		return nil, errors.Join(err, m.running.release())
	}
	return func() error {
		deaf()
		// The connection ends last, so that everything on it ends with a live session.
		return errors.Join(m.tags.running.release(), m.running.release())
	}, nil
}

// listen calls OnChange for changes until stop is called.
func (m *member) listen() (stop func()) {
	if m.onChange == nil {
		return func() {}
	}
	stopIndex := m.changes.Listen(func(d delta) {
		if c, ok := m.change(d); ok {
			m.onChange(c)
		}
	})
	stopTags := m.tags.changes.Listen(func(struct{}) { m.onChange(Change{VCenter: m.client.Name(), All: true}) })
	return func() {
		stopIndex()
		stopTags()
	}
}

// source is a vCenter's connection and its index, which successive inventories share.
type source struct {
	client  *vcenter.Client
	index   *index
	log     *slog.Logger
	running sharedRun
	static  staticFunc
	follow  bool // whether the watch includes the events about tags

	changes   notify.Listeners[delta]
	tagged    notify.Listeners[struct{}] // tags may have changed
	following atomic.Bool                // tagged reports every change
	current   atomic.Bool                // synced, without the lock

	mu       sync.Mutex
	synced   bool
	syncedAt time.Time // zero before the first time
	lost     error
	changed  chan struct{}     // closed and replaced when synced changes
	matched  map[string]string // the references under which configured datacenters were last found
}

func newSource(client *vcenter.Client, cfg Config) *source {
	s := &source{
		client:  client,
		index:   newIndex(),
		log:     cfg.Logger.With("vcenter", client.Name()),
		follow:  cfg.Categories.enabled(),
		static:  guest.StaticAddresses,
		changed: make(chan struct{}),
	}
	if cfg.ParityUpstream {
		s.static = guest.UpstreamStaticAddresses
	}
	s.running.run = s.run
	return s
}

// run connects and watches until ctx ends.
func (s *source) run(ctx context.Context) error {
	// The connection must end after the watch.
	connCtx, disconnect := context.WithCancel(context.WithoutCancel(ctx))
	defer disconnect()
	var connection sync.WaitGroup
	var connErr error
	connection.Go(func() { connErr = s.client.Run(connCtx) })
	err := s.client.Watch(ctx, watchSpec(s.follow), feed{s})
	disconnect()
	connection.Wait()
	return errors.Join(err, connErr)
}

func (s *source) setSync(synced bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if synced != s.synced {
		close(s.changed)
		s.changed = make(chan struct{})
		if synced {
			s.syncedAt = time.Now()
			s.log.Info("vcenter inventory", "synced", true)
		} else {
			s.log.Warn("vcenter inventory", "synced", false, "err", err)
		}
	}
	s.synced, s.lost = synced, err
	s.current.Store(synced)
}

func (s *source) inSync() bool { return s.current.Load() }

// doubt returns why the index cannot be relied on at the moment, or nil.
func (s *source) doubt() error {
	if _, err := s.client.Session(); err != nil {
		return err
	}
	if s.inSync() {
		return nil
	}
	s.mu.Lock()
	lost := s.lost
	s.mu.Unlock()
	if lost != nil {
		return fmt.Errorf("%w: %w", ErrNotSynced, lost)
	}
	return fmt.Errorf("vcenter %q: %w yet", s.client.Name(), ErrNotSynced)
}

// syncState returns whether the index is in sync, and a channel that closes when that changes.
func (s *source) syncState() (bool, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.synced, s.changed
}

// WaitTried waits until each vCenter is in sync with its tags read, or has failed to connect, or ctx ends. It returns why
// lookups cannot rely on all of them, or nil if they can.
func (inv *Inventory) WaitTried(ctx context.Context) error {
	for _, m := range inv.members {
		if err := m.waitTried(ctx); err != nil {
			return errors.Join(err, inv.doubt())
		}
	}
	return inv.doubt()
}

// waitTried returns nil when the outcome is known, and ctx's error if ctx ends before.
func (m *member) waitTried(ctx context.Context) error {
	for {
		state, changed := m.client.Changed()
		if state.Err != nil && !state.Connected {
			return nil
		}
		synced, arrived := m.syncState()
		if synced {
			if !m.tags.cfg.Categories.enabled() {
				return nil
			}
			arrived = m.tags.ready
		}
		select {
		case <-arrived:
			if synced {
				return nil
			}
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// OnlyUnseen reports whether err, from [Inventory.ConfirmAbsent], consists only of the doubts that the VM is outside the
// configured datacenters, or that some VM cannot be identified. Then every vCenter was reachable, and no search within the
// datacenters finds the VM. Upstream's provider reports such a VM as gone.
func OnlyUnseen(err error) bool {
	switch e := err.(type) { //nolint:errorlint // every leaf counts, not the first that matches
	case nil:
		return false
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			if !OnlyUnseen(err) {
				return false
			}
		}
		return true
	case interface{ Unwrap() error }:
		return OnlyUnseen(e.Unwrap())
	}
	return err == errOutOfScope || err == errUnidentified //nolint:errorlint // a leaf
}

// Status is the state of one vCenter's part of an inventory.
type Status struct {
	// VCenter is the vCenter's name.
	VCenter string
	// Synced reports that the index is complete and current. Doubt is why lookups cannot rely on it, or nil. An index may be
	// in sync while its connection is in doubt.
	Synced bool
	Doubt  error
	// SyncedAt is when the index last came into sync; zero for never.
	SyncedAt time.Time
	// VMs is the number of VMs in the index, those outside the configured datacenters included. Unidentified is how many of
	// them have no known UUID: while there are any, no VM is confirmed absent.
	VMs, Unidentified int
	// TagsReadAt is when the tags were last read completely; zero for never. TagsErr is why the last read failed. TagEvents
	// reports that events trigger reads.
	TagsReadAt time.Time
	TagsErr    error
	TagEvents  bool
	// Absent are the configured datacenters, tag categories and networks that the vCenter does not have. AbsentKnown reports
	// that this is known: the index is in sync, and reading the tags was tried.
	Absent      []absent.Name
	AbsentKnown bool
}

// Status returns the state of every vCenter, in the order of the configuration.
func (inv *Inventory) Status() []Status {
	all := make([]Status, 0, len(inv.members))
	for _, m := range inv.members {
		tags := m.tags.state.Load()
		s := Status{
			VCenter: m.client.Name(), Doubt: m.doubt(),
			TagsReadAt: tags.readAt, TagsErr: tags.err, TagEvents: m.tags.followed(),
		}
		s.Absent, s.AbsentKnown = m.absent()
		m.mu.Lock()
		s.Synced, s.SyncedAt = m.synced, m.syncedAt
		m.mu.Unlock()
		m.index.mu.RLock()
		s.VMs, s.Unidentified = len(m.index.vms), len(m.index.unknown)
		m.index.mu.RUnlock()
		all = append(all, s)
	}
	return all
}
