package inventory

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// ErrNotSynced says that a vCenter's inventory is not, or not yet, known in full.
var ErrNotSynced = errors.New("inventory not in sync")

// member is one vCenter of an inventory.
type member struct {
	client      *vcenter.Client
	datacenters []string // as configured; empty for all
	index       *index
	tags        *tagIndex
	log         *slog.Logger

	mu      sync.Mutex
	synced  bool
	lost    error
	changed chan struct{} // closed and replaced when synced changes
}

func (m *member) setSync(synced bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if synced != m.synced {
		close(m.changed)
		m.changed = make(chan struct{})
		if synced {
			m.log.Info("vcenter inventory", "synced", true)
		} else {
			m.log.Warn("vcenter inventory", "synced", false, "err", err)
		}
	}
	m.synced, m.lost = synced, err
}

// doubt returns why the index cannot be taken as the truth at the moment, nil when it can.
func (m *member) doubt() error {
	m.mu.Lock()
	synced, lost := m.synced, m.lost
	m.mu.Unlock()
	if _, err := m.client.Session(); err != nil {
		return err
	}
	if synced {
		return nil
	}
	if lost != nil {
		return fmt.Errorf("%w: %w", ErrNotSynced, lost)
	}
	return fmt.Errorf("vcenter %q: %w yet", m.client.Name(), ErrNotSynced)
}

// syncState returns whether the index is in sync, and a channel that is closed when that changes.
func (m *member) syncState() (bool, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.synced, m.changed
}
