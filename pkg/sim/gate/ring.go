package gate

import (
	"sync"

	"github.com/vmware/govmomi/vim25/types"
)

// ring keeps the last calls.
type ring struct {
	mu    sync.Mutex
	calls []Call
	total int
}

func newRing(size int) ring { return ring{calls: make([]Call, 0, max(0, size))} }

func (r *ring) add(c Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case cap(r.calls) == 0:
	case len(r.calls) < cap(r.calls):
		r.calls = append(r.calls, c)
	default:
		r.calls[r.total%len(r.calls)] = c
	}
	r.total++
}

// Recent returns the last calls, in the order in which they ended. Calls still under way are not in it.
func (g *Gate) Recent() []Call {
	r := &g.recent
	r.mu.Lock()
	oldest := 0
	if len(r.calls) > 0 && len(r.calls) == cap(r.calls) {
		oldest = r.total % len(r.calls)
	}
	list := append(append([]Call(nil), r.calls[oldest:]...), r.calls[:oldest]...)
	r.mu.Unlock()
	if g.opts.Name != nil {
		for i, c := range list {
			if c.Object != (types.ManagedObjectReference{}) {
				list[i].Name = g.opts.Name(c.Object)
			}
		}
	}
	return list
}
