package feed

import (
	"maps"
	"slices"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

// Source has the machines and sends them to readers. Create it with [NewSource]. Its methods may be called from any
// goroutine, and do not block on a reader.
type Source struct {
	mu       sync.Mutex
	machines map[string]Machine
	readers  map[*reader]struct{}
}

// NewSource returns a source without machines.
func NewSource() *Source {
	return &Source{machines: map[string]Machine{}, readers: map[*reader]struct{}{}}
}

// Set sets the state of a machine and sends it to the readers if it differs. A machine that is [Gone] is removed.
func (s *Source) Set(m Machine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, known := s.machines[m.ID]
	switch {
	case m.State != Gone && known && was.equal(m), m.State == Gone && !known:
		return
	case m.State == Gone:
		delete(s.machines, m.ID)
	default:
		s.machines[m.ID] = m
	}
	for r := range s.readers {
		r.pend(m.ID)
	}
}

// Machines returns all machines, sorted by ID.
func (s *Source) Machines() []Machine {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Machine, 0, len(s.machines))
	for _, id := range slices.Sorted(maps.Keys(s.machines)) {
		list = append(list, s.machines[id])
	}
	return list
}

// reader is a connected client. It queues IDs, not states: the state is read when it is sent.
type reader struct {
	pending map[string]struct{}
	order   []string
	wake    chan struct{}
}

// pend queues a machine. The caller holds the source's lock.
func (r *reader) pend(id string) {
	if _, ok := r.pending[id]; ok {
		return
	}
	r.pending[id] = struct{}{}
	r.order = append(r.order, id)
	notify.Wake(r.wake)
}

// read returns a reader with all machines queued.
func (s *Source) read() *reader {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &reader{pending: make(map[string]struct{}, len(s.machines)), wake: make(chan struct{}, 1)}
	for _, id := range slices.Sorted(maps.Keys(s.machines)) {
		r.pend(id)
	}
	s.readers[r] = struct{}{}
	return r
}

func (s *Source) forget(r *reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.readers, r)
}

// page is the maximum number of machines sent at once.
const page = 256

// take returns the present states of some queued machines, or none.
func (s *Source) take(r *reader) []Machine {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(page, len(r.order))
	taken := make([]Machine, 0, n)
	for _, id := range r.order[:n] {
		delete(r.pending, id)
		m, ok := s.machines[id]
		if !ok {
			m = Machine{ID: id, State: Gone}
		}
		taken = append(taken, m)
	}
	if r.order = r.order[n:]; len(r.order) == 0 {
		r.order = nil
	}
	return taken
}
