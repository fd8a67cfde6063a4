package inventory

import (
	"context"
	"errors"
)

// WaitTried waits until each vCenter is in sync with its tags read, or has failed to connect, or ctx ends. It returns why
// lookups cannot count on all of them, nil when they can.
func (inv *Inventory) WaitTried(ctx context.Context) error {
	for _, m := range inv.members {
		if err := m.waitTried(ctx); err != nil {
			return errors.Join(err, inv.doubt())
		}
	}
	return inv.doubt()
}

// waitTried returns nil when there is an outcome, and ctx's error when ctx ends before.
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
