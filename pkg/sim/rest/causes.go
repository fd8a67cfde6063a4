package rest

import (
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// causes are the events that are the cause of what happens to the tags of objects.
type causes struct {
	mu sync.Mutex
	by map[vc.Ref]uint64
}

// Causing names the event that is the cause of what happens to the tags of the object until release is called. Of two at
// once the later one counts.
func (h *Handler) Causing(ref vc.Ref, seq uint64) (release func()) {
	c := &h.causes
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = make(map[vc.Ref]uint64)
	}
	c.by[ref] = seq
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.by[ref] == seq {
			delete(c.by, ref)
		}
	}
}

func (c *causes) of(ref vc.Ref) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by[ref]
}
