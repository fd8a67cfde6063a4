package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// maxLocations bounds the cache.
const maxLocations = 100_000

// locations caches the vCenter in which a volume was last seen. It may be outdated: volumes move.
type locations struct {
	mu       sync.Mutex
	vcenters map[string]string // the vCenter's name
	// nodes is the node that this process last attached the volume to, in case the node's VM becomes unknown.
	nodes map[string]volume.Node
}

func (h *locations) put(id string, c *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.vcenters == nil || len(h.vcenters) >= maxLocations {
		h.vcenters = map[string]string{}
	}
	h.vcenters[id] = c.name()
}

func (h *locations) get(id string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.vcenters[id]
}

func (h *locations) forget(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.vcenters, id)
	delete(h.nodes, id)
}

func (h *locations) attached(id string, n volume.Node) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.nodes == nil || len(h.nodes) >= maxLocations {
		h.nodes = map[string]volume.Node{}
	}
	h.nodes[id] = n
}

func (h *locations) detached(id string, n volume.Node) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if is := h.nodes[id]; is.VM == n.VM && is.VCenter == n.VCenter {
		delete(h.nodes, id)
	}
}

// vm returns the node to which the volume was last attached, if it has n's id.
func (h *locations) vm(id string, n volume.Node) (volume.Node, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	is, ok := h.nodes[id]
	return is, ok && strings.EqualFold(is.ID, n.ID)
}

// lastVCenter returns where a volume was last seen, or nil if that is unknown, or no longer configured.
func (s *Store) lastVCenter(id string) *conn {
	if name := s.locations.get(id); name != "" {
		if c, err := s.conn(name); err == nil {
			return c
		}
	}
	return nil
}

// checkRemoved returns volume.ErrUnavailable for a volume that was last seen in a vCenter that is no longer configured: it may
// exist there, even if no other vCenter has it.
func (s *Store) checkRemoved(id string) error {
	name := s.locations.get(id)
	if name == "" {
		return nil
	}
	if _, err := s.conn(name); err != nil {
		return fmt.Errorf("volume %s was last seen in a vcenter that is no longer configured: %w", id, err)
	}
	return nil
}

// atVCenterOf runs f at the vCenter that has a volume. It tries the one where the volume was last seen first, and with a single vCenter
// no search is needed. f returns volume.ErrNotFound if the volume is not there.
func (s *Store) atVCenterOf(ctx context.Context, id string, f func(*conn) error) error {
	removed := s.checkRemoved(id)
	err := s.searchAndRun(ctx, id, f)
	if removed != nil && errors.Is(err, volume.ErrNotFound) {
		return removed
	}
	return err
}

func (s *Store) searchAndRun(ctx context.Context, id string, f func(*conn) error) error {
	conns := s.conns()
	c := s.lastVCenter(id)
	if len(conns) == 1 {
		c = conns[0]
	}
	var first error
	if c != nil {
		if first = f(c); !errors.Is(first, volume.ErrNotFound) || len(conns) == 1 {
			return first
		}
		s.locations.forget(id)
	}
	found, err := s.locate(ctx, id)
	switch {
	case err != nil:
		return err
	case found == c:
		return first // not the volume but another object was not found
	}
	return f(found)
}

// locate searches all vCenters for a volume. If none that responds has it, the error wraps volume.ErrNotFound if all respond,
// and volume.ErrUnavailable otherwise.
func (s *Store) locate(ctx context.Context, id string) (*conn, error) {
	conns := s.conns()
	has, errs := each(conns, func(c *conn) (bool, error) {
		_, err := c.volume(ctx, id)
		return err == nil, err
	})
	if i := slices.Index(has, true); i >= 0 {
		s.locations.put(id, conns[i])
		return conns[i], nil
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	errs = slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, volume.ErrNotFound) })
	if len(errs) > 0 {
		return nil, fmt.Errorf("volume %s: not found in the reachable vCenters: %w", id, errors.Join(errs...))
	}
	return nil, fmt.Errorf("volume %s: %w in %s", id, volume.ErrNotFound, s.names())
}

func (s *Store) names() string {
	var names []string
	for _, c := range s.conns() {
		names = append(names, fmt.Sprintf("%q", c.name()))
	}
	if len(names) == 1 {
		return "vcenter " + names[0]
	}
	return "any of the vcenters " + strings.Join(names, ", ")
}
