package nodes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

var errNotSynced = errors.New("inventory not in sync")

// member is one vCenter: its picture and its tags.
type member struct {
	client      *vcenter.Client
	datacenters []string // as configured; empty for all
	categories  []Category
	log         *slog.Logger
	picture     *picture
	tags        *tagIndex
	policies    policies
	changed     func() // told when nodes may be somewhere else; must not block

	mu     sync.Mutex
	synced bool
	lost   error
}

func newMember(cfg *Config, vc VCenter, categories []Category, changed func()) *member {
	log := cfg.Logger.With("vcenter", vc.Client.Name())
	return &member{
		client: vc.Client, datacenters: vc.Datacenters, categories: categories, log: log,
		picture: newPicture(), tags: newTagIndex(cfg, vc.Client, categories, log, changed), changed: changed,
	}
}

func (m *member) name() string { return m.client.Name() }

// run keeps picture and tags current until ctx ends.
func (m *member) run(ctx context.Context) {
	var tags sync.WaitGroup
	tags.Go(func() { m.tags.run(ctx) })
	_ = m.client.Watch(ctx, watched(len(m.categories) > 0), feed{m}) // it returns ctx's error
	tags.Wait()
}

// setSync reports whether that is a change.
func (m *member) setSync(synced bool, err error) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if synced == m.synced {
		m.lost = err
		return false
	}
	if synced {
		m.log.Info("nodes of vcenter", "synced", true)
	} else {
		m.log.Warn("nodes of vcenter", "synced", false, "err", err)
	}
	m.synced, m.lost = synced, err
	return true
}

func (m *member) inSync() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.synced
}

// doubt returns why the picture cannot be taken as the truth at the moment, nil when it can.
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
