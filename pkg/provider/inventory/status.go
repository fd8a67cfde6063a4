package inventory

import "time"

// Status is how one vCenter's part of an inventory fares.
type Status struct {
	// VCenter is its name.
	VCenter string
	// Synced says that the index is complete and current, Doubt why lookups cannot count on it, nil when they can: it may
	// be in sync and its connection in doubt.
	Synced bool
	Doubt  error
	// SyncedAt is when the index last came into sync, zero for never.
	SyncedAt time.Time
	// VMs is how many the index holds, those outside the configured datacenters included, Unidentified how many of them
	// tell no UUID: while there are any, no VM is confirmed absent.
	VMs, Unidentified int
	// TagsReadAt is when the tags were last read as a whole, zero for never, and TagsErr why they could not be read when
	// that was last tried. TagEvents says that events tell when tags change.
	TagsReadAt time.Time
	TagsErr    error
	TagEvents  bool
}

// Status tells how every vCenter fares, in the order of the configuration.
func (inv *Inventory) Status() []Status {
	all := make([]Status, 0, len(inv.members))
	for _, m := range inv.members {
		tags := m.tags.state.Load()
		s := Status{
			VCenter: m.client.Name(), Doubt: m.doubt(),
			TagsReadAt: tags.readAt, TagsErr: tags.err, TagEvents: m.tags.followed(),
		}
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
