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

// maxHolders bounds what is remembered; beyond it vCenters are asked again.
const maxHolders = 100_000

// holders remembers which vCenter holds a volume, where it was last seen. It may be wrong: volumes move.
type holders struct {
	mu sync.Mutex
	of map[string]string // the vCenter's name
	// on is the node that it was last attached to from here, for when nobody knows the node's VM any more.
	on map[string]volume.Node
}

func (h *holders) put(id string, c *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil || len(h.of) >= maxHolders {
		h.of = map[string]string{}
	}
	h.of[id] = c.name()
}

func (h *holders) get(id string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of[id]
}

func (h *holders) forget(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.of, id)
	delete(h.on, id)
}

func (h *holders) attached(id string, n volume.Node) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.on == nil || len(h.on) >= maxHolders {
		h.on = map[string]volume.Node{}
	}
	h.on[id] = n
}

func (h *holders) detached(id string, n volume.Node) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if is := h.on[id]; is.VM == n.VM && is.VCenter == n.VCenter {
		delete(h.on, id)
	}
}

// vm completes a node of which only the id is known, if it is the one that the volume was last attached to.
func (h *holders) vm(id string, n volume.Node) (volume.Node, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	is, ok := h.on[id]
	return is, ok && strings.EqualFold(is.ID, n.ID)
}

// holder is where a volume was last seen; nil when that is not known, or is no vCenter of ours any more.
func (s *Store) holder(id string) *conn {
	if name := s.holders.get(id); name != "" {
		if c, err := s.conn(name); err == nil {
			return c
		}
	}
	return nil
}

// removed is volume.ErrUnavailable for a volume that was last seen in a vCenter which the configuration has no more: that
// none of the others has it does not mean that there is none.
func (s *Store) removed(id string) error {
	name := s.holders.get(id)
	if name == "" {
		return nil
	}
	if _, err := s.conn(name); err != nil {
		return fmt.Errorf("volume %s, last seen in another: %w", id, err)
	}
	return nil
}

// at runs f at the vCenter that holds a volume. Where it was last seen is tried first; where there is but one, nobody is
// asked. f says with volume.ErrNotFound that it is not there.
func (s *Store) at(ctx context.Context, id string, f func(*conn) error) error {
	removed := s.removed(id)
	err := s.somewhere(ctx, id, f)
	if removed != nil && errors.Is(err, volume.ErrNotFound) {
		return removed
	}
	return err
}

func (s *Store) somewhere(ctx context.Context, id string, f func(*conn) error) error {
	conns := s.conns()
	c := s.holder(id)
	if len(conns) == 1 {
		c = conns[0]
	}
	var first error
	if c != nil {
		if first = f(c); !errors.Is(first, volume.ErrNotFound) || len(conns) == 1 {
			return first
		}
		s.holders.forget(id)
	}
	found, err := s.locate(ctx, id)
	switch {
	case err != nil:
		return err
	case found == c:
		return first // something else is not there
	}
	return f(found)
}

// locate asks all vCenters for a volume. When it is in none of those that answer and one does not, the error wraps
// volume.ErrUnavailable; when all answer, volume.ErrNotFound.
func (s *Store) locate(ctx context.Context, id string) (*conn, error) {
	conns := s.conns()
	has, errs := each(conns, func(c *conn) (bool, error) {
		_, err := c.volume(ctx, id)
		return err == nil, err
	})
	if i := slices.Index(has, true); i >= 0 {
		s.holders.put(id, conns[i])
		return conns[i], nil
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	errs = slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, volume.ErrNotFound) })
	if len(errs) > 0 {
		return nil, fmt.Errorf("volume %s: not in the vCenters that answer: %w", id, errors.Join(errs...))
	}
	return nil, fmt.Errorf("volume %s: %w in %s", id, volume.ErrNotFound, s.names())
}

// names lists the vCenters.
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
