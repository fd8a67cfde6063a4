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
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// ErrNotSynced says that a vCenter's inventory is not, or not yet, known in full.
var ErrNotSynced = errors.New("inventory not in sync")

// member is one vCenter of an inventory: a source, and what of it is looked at.
type member struct {
	*source
	datacenters []string // as configured; empty for all
	selected    atomic.Pointer[selected]
	tags        *tagIndex
	onChange    func(Change) // nil when nobody wants to know
}

// newMember returns a member with the source, and the tags, of the inventory before where there is one.
func newMember(vc VCenterConfig, cfg Config) *member {
	m := &member{datacenters: vc.Datacenters, onChange: cfg.OnChange}
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

// hold makes sure that the member is kept current until release.
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
		// The connection ends last, so that what runs on it ends on a live session.
		return errors.Join(m.tags.running.release(), m.running.release())
	}, nil
}

// listen has OnChange told until the function returned is called.
func (m *member) listen() (stop func()) {
	if m.onChange == nil {
		return func() {}
	}
	stopIndex := m.changes.Listen(func(d delta) {
		if c, ok := m.change(d); ok {
			m.onChange(c)
		}
	})
	stopTags := m.tags.changes.Listen(func(struct{}) { m.onChange(Change{VCenter: m.client.Name(), Everything: true}) })
	return func() {
		stopIndex()
		stopTags()
	}
}

// source is a vCenter's connection and the index of it, for as long as an inventory has it.
type source struct {
	client  *vcenter.Client
	index   *index
	log     *slog.Logger
	running held
	static  staticFunc
	follow  bool // whether the watch is to follow the events of tags

	changes   notify.Listeners[delta]
	tagged    notify.Listeners[struct{}] // tags may have changed
	following atomic.Bool                // tagged is told of every change
	current   atomic.Bool                // synced, for those in a hurry

	mu       sync.Mutex
	synced   bool
	syncedAt time.Time // zero before the first time
	lost     error
	changed  chan struct{} // closed and replaced when synced changes
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
	// The connection ends after the watch.
	connCtx, disconnect := context.WithCancel(context.WithoutCancel(ctx))
	defer disconnect()
	var connection sync.WaitGroup
	var connErr error
	connection.Go(func() { connErr = s.client.Run(connCtx) })
	err := s.client.Watch(ctx, watched(s.follow), feed{s})
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

// inSync reports whether the watch has told everything.
func (s *source) inSync() bool { return s.current.Load() }

// doubt returns why the index cannot be taken as the truth at the moment, nil when it can.
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

// syncState returns whether the index is in sync, and a channel that is closed when that changes.
func (s *source) syncState() (bool, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.synced, s.changed
}
